"""Downloads from well-behaved and misbehaving local servers."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lowrankgcn.datasets import download as module
from lowrankgcn.datasets.download import RemoteFile, data_directory
from lowrankgcn.exceptions import DataUnavailableError

CONTENT = os.urandom(200_000)


class Handler(BaseHTTPRequestHandler):
    """One misbehaviour per path."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        ways = {
            "/good": self.good,
            "/truncated": self.truncated,
            "/short": lambda: self.whole(CONTENT[:-1]),
            "/long": lambda: self.whole(CONTENT + b"x"),
            "/wrong": lambda: self.whole(CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])),
            "/endless": self.endless,
            "/garbage": lambda: self.wfile.write(b"not even HTTP\r\n\r\n"),
            "/hangs-up": lambda: self.connection.shutdown(socket.SHUT_RDWR),
            "/silent": lambda: time.sleep(30),
            "/drips": self.drips,
            "/moved": self.moved,
        }
        self.close_connection = True
        try:
            ways.get(self.path, lambda: self.send_error(404))()
        except OSError:
            pass  # the client has left, which is what some of these are for

    def head(self, length: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def whole(self, content: bytes) -> None:
        self.head(len(content))
        self.wfile.write(content)

    def good(self) -> None:
        self.whole(CONTENT)

    def truncated(self) -> None:
        self.head(len(CONTENT))
        self.wfile.write(CONTENT[:70_000])

    def endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(10_000):
            self.wfile.write(bytes(1 << 16))

    def drips(self) -> None:
        self.head(len(CONTENT))
        for k in range(1000):
            self.wfile.write(CONTENT[k : k + 1])
            time.sleep(0.02)

    def moved(self) -> None:
        self.send_response(301)
        self.send_header("Location", "/good")
        # Without this header the client may reuse the connection while the server closes it.
        self.send_header("Connection", "close")
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.daemon_threads = True
        running.block_on_close = False
        thread = threading.Thread(target=running.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def remote(address: str) -> RemoteFile:
    return RemoteFile("file.bin", address, len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


def test_complete_files_are_downloaded(server: str) -> None:
    for path in ("/good", "/moved"):
        assert remote(server + path).download() == CONTENT, path


REFUSED = {
    "/missing": "HTTP Error 404",
    "/truncated": "the server stopped 130000 bytes before the end",
    "/short": "expected SHA-256 .*, got",
    "/long": "expected SHA-256 .*, got",
    "/wrong": "expected SHA-256 .*, got",
    "/endless": "expected SHA-256 .*, got",
    "/garbage": "not even HTTP",
    "/hangs-up": ".",
    "/silent": "timed out",
}


def test_misbehaving_servers(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SILENCE", 0.5)
    for path, message in REFUSED.items():
        with pytest.raises(DataUnavailableError) as caught:
            remote(server + path).download()
        assert re.search(message, str(caught.value)), (path, str(caught.value))
        assert "\n" not in str(caught.value), path


def test_the_first_download_is_trusted_without_a_checksum(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its SHA-256 is stored; a truncated download, or later another content, is refused."""
    monkeypatch.setenv("LOWRANKGCN_DATA", str(tmp_path))

    def unknown(path: str) -> RemoteFile:
        return RemoteFile("web/file.bin", server + path, 2 * len(CONTENT), None)

    with pytest.raises(DataUnavailableError, match="stopped 130000 bytes before the end"):
        unknown("/truncated").read()
    assert not (tmp_path / "web").exists()
    with pytest.warns(UserWarning, match="no checksums of the files of web are published"):
        assert unknown("/good").read() == CONTENT
    digest = hashlib.sha256(CONTENT).hexdigest()
    stored = tmp_path / "web" / "file.bin.sha256"
    assert stored.read_text() == f"{digest}  file.bin\n"
    assert unknown("/good").read(fetch=False) == CONTENT
    (tmp_path / "web" / "file.bin").write_bytes(b"another")
    with pytest.raises(ValueError, match=f"expected SHA-256 {digest[:8]}"):
        unknown("/good").read()
    (tmp_path / "web" / "file.bin").unlink()
    with pytest.raises(DataUnavailableError, match=f"expected SHA-256 {digest[:8]}"):
        unknown("/wrong").read()


def test_connection_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        with pytest.raises(DataUnavailableError, match="refused"):
            remote(address).download()


def test_a_killed_download_leaves_nothing(server: str, tmp_path: Path) -> None:
    script = (
        "from lowrankgcn.datasets import load_mushrooms, uci\n"
        "from lowrankgcn.datasets.download import RemoteFile\n"
        f"uci.MUSHROOMS = RemoteFile('file.bin', {server + '/drips'!r}, 10**6, '0')\n"
        "print('begins', flush=True)\n"
        "load_mushrooms()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"LOWRANKGCN_DATA": str(tmp_path)},
    )
    assert process.stdout is not None
    with process, process.stdout as said:
        assert said.readline() == "begins\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_the_data_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("LOWRANKGCN_DATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert data_directory() == tmp_path / ".cache" / "lowrankgcn"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert data_directory() == tmp_path / ".cache" / "lowrankgcn"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert data_directory() == tmp_path / "x" / "lowrankgcn"
    monkeypatch.setenv("LOWRANKGCN_DATA", "~/data")
    assert data_directory() == tmp_path / "data"
    assert list(tmp_path.iterdir()) == []
