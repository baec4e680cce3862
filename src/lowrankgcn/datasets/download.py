"""Files that are fetched once, checked, and kept in the data directory.

What arrives is taken only if its size and SHA-256 are those of the file that was meant, and it is
written in one step: a download that fails or is killed leaves nothing.

>>> digest = hashlib.sha256(b"abc").hexdigest()
>>> file = RemoteFile("abc.txt", "https://example.org/abc.txt", 3, digest)
>>> file.check(b"abc")
>>> file.check(b"abd")
Traceback (most recent call last):
    ...
ValueError: abc.txt: expected SHA-256 ba7816bf..., got a52d159f...
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import final

from lowrankgcn import _atomic
from lowrankgcn._validation import invalid
from lowrankgcn.exceptions import DataUnavailableError

__all__ = ["RemoteFile", "data_directory", "download", "keep"]

_SILENCE = 15.0  # seconds without a byte after which a server is given up
_PATIENCE = 120.0  # seconds for the whole file, however steadily it drips


def data_directory() -> Path:
    """The folder of data files: ``LOWRANKGCN_DATA``, or ``lowrankgcn`` in the user's cache.

    The cache is the folder named by ``XDG_CACHE_HOME``, or ``~/.cache``. Nothing is created.

    Examples
    --------
    >>> data_directory().is_absolute()
    True
    """
    named = os.environ.get("LOWRANKGCN_DATA")
    if named:
        return Path(named).expanduser().absolute()
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # A relative path there is to be ignored, says the XDG specification.
    base = Path(cache) if Path(cache).is_absolute() else Path("~/.cache").expanduser()
    return base.absolute() / "lowrankgcn"


@final
@dataclass(frozen=True)
class RemoteFile:
    """A file whose content is known: its name, address, size in bytes, and SHA-256."""

    name: str
    address: str
    size: int
    sha256: str

    def check(self, content: bytes) -> None:
        """Accept the very bytes meant; anything else raises ValueError."""
        if len(content) != self.size:
            more = " or more" if len(content) > self.size else ""
            raise invalid(self.name, f"{self.size} bytes", f"{len(content)}{more}")
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256:
            raise invalid(self.name, f"SHA-256 {self.sha256[:8]}...", f"{digest[:8]}...")


def download(file: RemoteFile) -> bytes:
    """Fetch a file into memory and check it.

    Raises
    ------
    DataUnavailableError
        If nobody answers, the answer is no, is cut short, or is not that file.

    Notes
    -----
    At most one byte more than the expected size is read, so a wrong server cannot fill the memory.
    """
    # urllib brings ssl and http: 50 ms that only a download should cost.
    import http.client
    import urllib.error
    import urllib.request

    request = urllib.request.Request(file.address, headers={"User-Agent": "lowrankgcn"})
    deadline = time.monotonic() + _PATIENCE
    parts: list[bytes] = []
    missing = file.size + 1
    try:
        with urllib.request.urlopen(request, timeout=_SILENCE) as response:
            while missing and (part := response.read1(min(missing, 1 << 16))):
                parts.append(part)
                missing -= len(part)
                if time.monotonic() > deadline:
                    raise TimeoutError(f"not finished after {_PATIENCE:g} s")
        content = b"".join(parts)
        file.check(content)
    except urllib.error.HTTPError as error:
        with contextlib.closing(error):
            raise DataUnavailableError(f"the server answered {error.code}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        said = " ".join(str(reason).split())  # what a server sends may have any lines
        raise DataUnavailableError(said or type(reason).__name__) from error
    return content


def keep(file: RemoteFile, content: bytes, folder: Path) -> Path:
    """Check a file's content and put it into `folder`, whole or not at all.

    Raises
    ------
    OSError
        If the folder cannot be made or written to.
    """
    file.check(content)
    folder.mkdir(parents=True, exist_ok=True)
    _atomic.write_bytes(folder / file.name, content)
    return folder / file.name
