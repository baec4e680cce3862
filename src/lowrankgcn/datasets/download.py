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
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from lowrankgcn._validation import invalid
from lowrankgcn.exceptions import DataUnavailableError

__all__ = ["RemoteFile", "data_directory", "download"]

_SILENCE = 15.0  # seconds without a byte after which a download is given up
_PATIENCE = 120.0  # seconds for the whole file
_CHUNK = 64  # bytes between two looks at the clock, so that slow servers are noticed


def data_directory() -> Path:
    """Return the folder of data files: ``LOWRANKGCN_DATA``, or ``lowrankgcn`` in the user's cache.

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
    # The XDG specification requires that relative paths are ignored.
    base = Path(cache) if Path(cache).is_absolute() else Path("~/.cache").expanduser()
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
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256:
            raise invalid(self.name, f"SHA-256 {self.sha256[:8]}...", f"{digest[:8]}...")


@dataclass
class _Limits:
    """A progress bar for pooch that stops downloads that are too long or too slow."""

    size: int
    total: int = 0
    received: int = 0
    deadline: float = field(default_factory=lambda: time.monotonic() + _PATIENCE)

    def update(self, n: int) -> None:
        self.received += n
        if self.received > self.size + _CHUNK:
            raise OSError(f"the file is larger than {self.size} bytes")
        if time.monotonic() > self.deadline:
            raise TimeoutError(f"not finished after {_PATIENCE:g} s")

    def reset(self) -> None:
        self.received = 0

    def close(self) -> None:
        pass


def download(file: RemoteFile) -> bytes:
    """Download a file and check it.

    Raises
    ------
    DataUnavailableError
        If the server does not answer, or sends anything but that file.
    """
    import pooch  # here, because only a download should pay for its import

    pooch.get_logger().setLevel("WARNING")
    responses: list[Any] = []
    downloader = pooch.HTTPDownloader(
        progressbar=_Limits(file.size),
        chunk_size=_CHUNK,
        timeout=_SILENCE,
        hooks={"response": lambda response, **_: responses.append(response)},
    )
    outer = sys.exception()
    try:
        with tempfile.TemporaryDirectory(prefix="lowrankgcn-") as folder:
            path = pooch.retrieve(
                file.address, f"sha256:{file.sha256}", file.name, folder, downloader=downloader
            )
            return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        cause: BaseException = error
        while cause.__context__ not in (None, outer):  # requests and urllib3 wrap the first error
            cause = cause.__context__
        message = " ".join(str(cause).split())
        raise DataUnavailableError(message or type(cause).__name__) from error
    finally:
        for response in responses:  # pooch does not close them
            response.close()
