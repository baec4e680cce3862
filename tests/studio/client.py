"""A client of a studio that sends exactly the headers it is told to."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from tests.studio.running import Studio

JSON = {"content-type": "application/json"}


class Client:
    """Requests to a running studio; `token` is sent with each of them unless headers are given."""

    def __init__(self, running: Studio) -> None:
        self.port, self.token = running.port, running.address.partition("token=")[2]
        self.root = urlsplit(running.address).path

    def send(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: Any = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body; paths lie below that of the page."""
        headers = {"x-token": self.token, **JSON} if headers is None else headers
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, self.root + path.removeprefix("/"), data, headers)
        answer = connection.getresponse()
        found = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        connection.close()
        return found

    def open(self, path: str) -> http.client.HTTPConnection:
        """Return a connection that has got the head of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"x-token": self.token}
        connection.request("GET", self.root + path.removeprefix("/"), headers=headers)
        connection.getresponse()
        return connection

    def get(self, path: str) -> Any:
        """Return the JSON document of an address."""
        status, _, body = self.send("GET", f"/api/{path}")
        assert status == 200, body
        return json.loads(body)

    def post(self, path: str, **content: Any) -> Any:
        """Return the answer to a request; its error if it was refused."""
        return json.loads(self.send("POST", f"/api/{path}", body=content)[2])

    def label(self, row: int, name: str | None) -> int:
        """Label a row and return the version."""
        version: int = self.post("label", **{"rows": [row], "class": name})["version"]
        return version

    def settled(self) -> dict[str, Any]:
        """Return the state as soon as nothing is refreshing."""
        for _ in range(600):
            state: dict[str, Any] = self.get("state")
            if not state["refreshing"]:
                return state
            time.sleep(0.05)
        raise AssertionError("the answer did not settle")

    def predictions(self) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
        """Return version, codes, certainties and flags."""
        data = self.send("GET", "/api/predictions")[2]
        version, n = np.frombuffer(data[:8], "<u4").tolist()
        assert len(data) == 8 + 4 * n
        codes, certainty = np.frombuffer(data, "<u2", n, 8), np.frombuffer(data, "u1", n, 8 + 2 * n)
        return version, codes, certainty, np.frombuffer(data, "u1", n, 8 + 3 * n)
