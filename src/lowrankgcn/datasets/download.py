"""Data files: where they are kept, and how they are downloaded and checked.

>>> digest = hashlib.sha256(b"abc").hexdigest()
>>> file = RemoteFile("abc.txt", "https://example.org/abc.txt", 3, digest)
>>> file.check(b"abc")
>>> file.check(b"abd")
Traceback (most recent call last):
    ...
ValueError: abc.txt: expected SHA-256 ba7816bf..., got a52d159f...
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import final
from urllib.request import urlopen

from lowrankgcn import _atomic
from lowrankgcn._validation import invalid
from lowrankgcn.exceptions import DataUnavailableError

_SILENCE = 15.0  # seconds without a byte after which a download is given up
_PATIENCE = 120.0  # seconds for the whole file


def data_directory() -> Path:
    """Return the folder of data files: ``LOWRANKGCN_DATA``, or ``lowrankgcn`` in the user's cache.

    The cache is the folder named by ``XDG_CACHE_HOME``, or ``~/.cache``. Nothing is created.

    Examples
    --------
    >>> from lowrankgcn.datasets import data_directory
    >>> data_directory().is_absolute()
    True
    """
    named = os.environ.get("LOWRANKGCN_DATA")
    if named:
        return Path(named).expanduser().absolute()
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification requires that relative paths are ignored.
    base = cache if cache.is_absolute() else Path("~/.cache").expanduser()
    return base.absolute() / "lowrankgcn"


@final
@dataclass(frozen=True)
class RemoteFile:
    """A file with known content: name, address, size in bytes, and SHA-256."""

    name: str
    address: str
    size: int
    sha256: str

    def check(self, content: bytes) -> None:
        """Raise ValueError if the content is not that of the file."""
        if len(content) != self.size:
            raise invalid(self.name, f"{self.size} bytes", len(content))
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256:
            raise invalid(self.name, f"SHA-256 {self.sha256[:8]}...", f"{digest[:8]}...")

    def read(self, *, fetch: bool = True) -> bytes:
        """Return the content from the data directory, after downloading it there on first use.

        Parameters
        ----------
        fetch : bool
            Whether to download the file if it is missing.

        Raises
        ------
        DataUnavailableError
            If the file is missing and not downloaded, or cannot be written to the folder.
        ValueError
            If the file in the data directory has another content.
        """
        folder, failure = data_directory(), ""
        try:
            content = (folder / self.name).read_bytes()
            self.check(content)
            return content
        except ValueError as error:
            raise ValueError(f"{error}; remove it from {folder} to download it again") from None
        except (FileNotFoundError, NotADirectoryError):
            pass
        if fetch:
            try:
                content = self.download()
                folder.mkdir(parents=True, exist_ok=True)
                _atomic.write_bytes(folder / self.name, content)
                return content
            except OSError as error:
                failure = f" ({error})"
        raise DataUnavailableError(
            f"no file {self.name} in {folder}{failure}; put it there from {self.address}"
        )

    def download(self) -> bytes:
        """Download the content and check it.

        Raises
        ------
        DataUnavailableError
            If the server does not answer, is too slow, or sends anything but that file.
        """
        deadline, content = time.monotonic() + _PATIENCE, b""
        try:
            with urlopen(self.address, timeout=_SILENCE) as response:
                while len(content) <= self.size and (part := response.read1()):
                    content += part
                    if time.monotonic() > deadline:
                        raise TimeoutError(f"not finished after {_PATIENCE:g} s")
            self.check(content)
        except (OSError, HTTPException, ValueError) as error:
            message = " ".join(str(error).split())
            raise DataUnavailableError(message or type(error).__name__) from error
        return content
