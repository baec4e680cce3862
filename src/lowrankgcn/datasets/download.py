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
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import final
from urllib.request import urlopen

from lowrankgcn._atomic import write_bytes
from lowrankgcn._validation import invalid
from lowrankgcn.exceptions import DataUnavailableError, warn_caller

_SILENCE = 15.0  # seconds without a byte after which a download is given up


def data_directory() -> Path:
    """Return the folder of data files: ``LOWRANKGCN_DATA``, or ``lowrankgcn`` in the user's cache.

    The cache is the folder named by ``XDG_CACHE_HOME``, or ``~/.cache``. Nothing is created.

    Examples
    --------
    >>> from lowrankgcn.datasets import data_directory
    >>> data_directory().is_absolute()
    True
    """
    if named := os.environ.get("LOWRANKGCN_DATA"):
        return Path(named).expanduser().absolute()
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification requires that relative paths are ignored.
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "lowrankgcn"


@final
@dataclass(frozen=True)
class RemoteFile:
    """A file: name in the data directory, address, size in bytes, and SHA-256.

    Without a published SHA-256, any content up to the size is accepted once. Its SHA-256 is then
    stored beside it, as ``<name>.sha256``, and later contents are compared with that.
    """

    name: str
    address: str
    size: int
    sha256: str | None

    def check(self, content: bytes, remedy: str = "") -> None:
        """Raise ValueError if the content is not that of the file, as far as that is known."""
        expected, digest = self.sha256, hashlib.sha256(content).hexdigest()
        if expected is None:
            if len(content) > self.size:
                raise invalid(self.name, f"at most {self.size} bytes", f"more{remedy}")
            stored = data_directory() / f"{self.name}.sha256"
            expected = stored.read_text().partition(" ")[0] if stored.is_file() else digest
        if digest != expected:
            raise invalid(self.name, f"SHA-256 {expected[:8]}...", f"{digest[:8]}...{remedy}")

    def _remember(self, content: bytes) -> None:
        """Store the SHA-256 of the first download."""
        path, digest = data_directory() / f"{self.name}.sha256", hashlib.sha256(content).hexdigest()
        if self.sha256 is None and not path.is_file():
            write_bytes(path, f"{digest}  {path.name.removesuffix('.sha256')}\n".encode())
            warn_caller(
                f"no checksums of the files of {self.name.partition('/')[0]} are published; those "
                "of this download are stored beside them, as *.sha256, and compared from now on",
                UserWarning,
            )

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
        path = folder / self.name
        if path.is_file():
            content = path.read_bytes()
            self.check(content, f"; remove it from {folder} to download it again")
            return content
        if fetch:
            try:
                content = self.download()
                path.parent.mkdir(parents=True, exist_ok=True)
                write_bytes(path, content)
                self._remember(content)
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
            If the server does not answer or sends anything but that file.
        """
        try:
            with urlopen(self.address, timeout=_SILENCE) as response:
                content: bytes = response.read(self.size + 1)  # also if the server never ends
                if response.length and len(content) <= self.size:
                    raise OSError(f"the server stopped {response.length} bytes before the end")
            self.check(content)
        except (OSError, HTTPException, ValueError) as error:
            message = " ".join(str(error).split())
            raise DataUnavailableError(message or type(error).__name__) from error
        return content
