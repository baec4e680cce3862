"""The server: HTTP interface on 127.0.0.1, access control, and events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import socket
import threading
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from hashlib import blake2b
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from lowrankgcn._validation import invalid
from lowrankgcn.studio.session import Session
from lowrankgcn.studio.view import View

STATIC = Path(__file__).with_name("static")
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}
_LARGEST_BODY = 2**25
_TOKEN = "LOWRANKGCN_STUDIO_TOKEN"
_FAREWELL = 1.0  # seconds in which pages read why the server ends
_PAUSE = 0.02  # seconds between looks at the version, for events


class Guard:
    """Refuse requests without the token, from other hosts or from other origins (ASGI)."""

    def __init__(self, app: Any, token: str, port: int) -> None:
        self.app, self._token, self._cookie = app, token, f"studio_{port}"
        self._root = root(token)
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        request = Request(scope)
        problem = self._problem(request)
        answer = self.app if problem is None else Response(problem, 403, media_type="text/plain")
        more = dict(_HEADERS)
        if problem is None and request.url.path == self._root:
            # Cookies do not belong to ports: another server on this machine could get one for "/".
            flags = f"HttpOnly; SameSite=Strict; Path={self._root}"
            more["set-cookie"] = f"{self._cookie}={self._token}; {flags}"

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(more)
            await send(message)

        await answer(scope, receive, send_guarded)

    def _problem(self, request: Request) -> str | None:
        headers, path = request.headers, request.url.path
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts or origin not in (None, f"http://{host}"):
            return "refused: another host or origin"
        tokens = [request.cookies.get(self._cookie, ""), headers.get("x-token", "")]
        tokens += [request.query_params.get("token", "")] if path == self._root else []
        expected = self._token.encode()
        if not any(secrets.compare_digest(token.encode(), expected) for token in tokens):
            return "refused: open the address that the command printed"
        kind = headers.get("content-type", "").split(";")[0].strip()
        if request.method == "POST" and kind != "application/json":
            return "refused: expected application/json"
        return None


def make_app(view: View, token: str, port: int) -> Guard:
    """Return the ASGI application.

    Parameters
    ----------
    view : View
    token : str
    port : int
    """
    session = view.session

    def rows(query: dict[str, str]) -> Any:
        sort, search = query.get("sort", "row"), query.get("search", "")
        count, offset = _number(query, "count", 100, 200), _number(query, "offset", 0, 2**31)
        descending = query.get("descending") == "1"
        return view.rows(sort, descending, offset, count, search, query.get("show", ""))

    def label(body: dict[str, Any]) -> Any:
        if "class" not in body:
            raise ValueError('expected {"rows": [...], "class": name or null}')
        return {"version": session.label(body.get("rows", ()), body["class"], body.get("by"))}

    def changing(change: Callable[..., int], *names: str) -> Callable[[dict[str, Any]], Any]:
        """Return a function that calls a method with the named values of a body."""
        return lambda body: {"version": change(*map(body.get, names), by=body.get("by"))}

    def accept(body: dict[str, Any]) -> Any:
        version, count = session.accept(body.get("above", 0.0), body.get("by"))
        return {"version": version, "rows": count}

    def sure(query: dict[str, str]) -> Any:
        return {"rows": len(session.state.sure(_number(query, "percent", 99, 100) / 100))}

    def history(query: dict[str, str]) -> Any:
        count, offset = _number(query, "count", 100, 1000), _number(query, "offset", 0, 2**31)
        return session.history(offset, count)

    interface: list[tuple[str, str, Callable[[Any], Any]]] = [
        ("GET", "table", lambda query: view.description),
        ("GET", "state", lambda q: session.state.describe() | {"several": session.several}),
        ("GET", "predictions", lambda query: session.state.packed()),
        ("GET", "rows", rows),
        ("GET", "row/{row:int}", lambda query: view.row(query["row"])),
        ("GET", "reasons/{row:int}", lambda query: view.reasons(query["row"])),
        ("GET", "search", lambda q: view.search(q.get("text", ""), q.get("show", ""))),
        ("GET", "sure", sure),
        ("GET", "history", history),
        ("GET", "progress", lambda query: view.progress(query.get("what", ""))),
        ("POST", "label", label),
        ("POST", "skip", changing(session.skip, "rows", "skipped")),
        ("POST", "note", changing(session.annotate, "row", "text")),
        ("POST", "confirm", changing(session.confirm, "rows")),
        ("POST", "accept", accept),
        ("POST", "classes", changing(session.revise, "order", "renamed")),
        ("POST", "undo", changing(session.undo)),
        ("POST", "redo", changing(session.redo)),
        ("POST", "write", lambda body: {"path": str(view.write(str(body.get("what"))))}),
    ]

    async def positions(request: Request) -> Response:
        while not view.map.done():  # without a thread for each page that waits
            await asyncio.sleep(_PAUSE)
        return Response(view.map.result(), media_type="application/octet-stream")

    def picture(request: Request) -> Response:
        data, kind = view.picture(request.path_params["row"], request.path_params["column"])
        return Response(data, media_type=kind)

    async def events(request: Request) -> Response:
        session.meet(request.query_params.get("browser", "")[:50])
        return StreamingResponse(_events(session, request.app), media_type="text/event-stream")

    def written(request: Request) -> Response:
        path = view.written(request.path_params["what"])
        return FileResponse(path, media_type="application/octet-stream", filename=path.name)

    routes = [
        Route("/", lambda request: FileResponse(STATIC / "index.html")),
        Route("/api/events", events),
        Route("/api/file/{what}", written),
        Route("/api/positions", positions),
        Route("/api/picture/{row:int}/{column:int}", picture),
        Mount("/static", StaticFiles(directory=STATIC)),
        *(_route(*entry) for entry in interface),
    ]
    below = [Mount(root(token).rstrip("/"), routes=routes)]
    app = Starlette(routes=below, exception_handlers={ValueError: _refuse, OSError: _refuse})
    return Guard(app, token, port)


def _refuse(request: Request, error: Exception) -> Response:
    reason = error.strerror if isinstance(error, OSError) else None
    return JSONResponse({"error": f"Not saved: {reason}" if reason else str(error)}, 400)


def _route(method: str, path: str, function: Callable[[Any], Any]) -> Route:
    """Answer with what a function makes of the query or of the JSON object that was sent."""

    async def answer(request: Request) -> Response:
        question: Any = {**request.query_params, **request.path_params}
        if method == "POST":
            question = await _body(request)
        content = await run_in_threadpool(function, question)
        if isinstance(content, bytes):
            return Response(content, media_type="application/octet-stream")
        return JSONResponse(content)

    return Route(f"/api/{path}", answer, methods=[method])


def _number(query: dict[str, str], name: str, default: int, most: int) -> int:
    text = query.get(name, str(default))
    if not text.isdecimal() or len(text) > 12:
        raise ValueError(f"{name}: expected a number, got {text[:20]!r}")
    return min(int(text), most)


async def _body(request: Request) -> dict[str, Any]:
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > _LARGEST_BODY:
            raise ValueError(f"expected at most {_LARGEST_BODY} bytes")
    with contextlib.suppress(ValueError, RecursionError):
        if isinstance(body := json.loads(data), dict):
            return body
    raise ValueError("expected a JSON object")


async def _events(session: Session, app: Any) -> AsyncIterator[str]:
    """Yield the version after every change."""
    sent = 0
    while not app.state.server.should_exit:
        if sent != (version := session.state.version):
            yield f"event: version\ndata: {version}\n\n"
            sent = version
        await asyncio.sleep(_PAUSE)
    yield "event: bye\ndata: 0\n\n"


def new_token() -> str:
    """Return the secret in ``LOWRANKGCN_STUDIO_TOKEN``, or one that cannot be guessed."""
    token = os.environ.get(_TOKEN, "")
    if token and not re.fullmatch(r"[A-Za-z0-9_-]{16,}", token):
        raise invalid(_TOKEN, "at least 16 letters, digits, - or _", f"{len(token)} characters")
    return token or secrets.token_urlsafe(24)


def root(token: str) -> str:
    """Return the path of all addresses: nobody can guess it, and it does not give the token away.

    >>> root("abcdefghijklmnop")
    '/elhi-zty/'
    """
    digest = blake2b(token.encode(), digest_size=6, person=b"studio").digest()
    return f"/{urlsafe_b64encode(digest).decode()}/"


def address(token: str, port: int) -> str:
    """Return the address that opens the page; the token is in the first request only."""
    return f"http://127.0.0.1:{port}{root(token)}?token={token}"


def listen(port: int) -> socket.socket:
    """Return a socket on 127.0.0.1 at a port, or at another one if that is taken."""
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError:
        listener = socket.create_server(("127.0.0.1", 0))
    # Connections inherit this: answers do not wait for Nagle's algorithm (40 ms).
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def serve(guard: Guard, listener: socket.socket, needed: Future[Any] | None = None) -> None:
    """Serve until the process is interrupted, or what is needed could not be computed."""
    options: Any = {"log_level": "critical", "access_log": False, "server_header": False}
    config = uvicorn.Config(guard, lifespan="off", timeout_graceful_shutdown=2, **options)
    guard.app.state.server = server = uvicorn.Server(config)

    def end(done: Future[Any]) -> None:
        if done.exception() is not None:
            threading.Timer(_FAREWELL, setattr, (server, "should_exit", True)).start()

    if needed is not None:
        needed.add_done_callback(end)
    server.run(sockets=[listener])
