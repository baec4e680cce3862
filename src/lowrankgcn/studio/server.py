"""The server: HTTP interface on 127.0.0.1, access control, and events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
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
_PING = 15.0  # seconds


class Guard:
    """Refuse requests without the token, from other hosts or from other origins (ASGI)."""

    def __init__(self, app: Any, token: str, port: int) -> None:
        self.app, self._token, self._cookie = app, token, f"studio_{port}"
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                more = {k: v for k, v in _HEADERS.items()}
                if entering:
                    options = "HttpOnly; SameSite=Strict; Path=/"
                    more["set-cookie"] = f"{self._cookie}={self._token}; {options}"
                names = {name.encode() for name in more}
                kept = [pair for pair in message["headers"] if pair[0].lower() not in names]
                message["headers"] = kept + [(k.encode(), v.encode()) for k, v in more.items()]
            await send(message)

        request, entering = Request(scope), False
        problem = self._problem(request)
        if problem is None:
            entering = request.url.path == "/"
            await self.app(scope, receive, send_guarded)
        else:
            await PlainTextResponse(problem, 403)(scope, receive, send_guarded)

    def _problem(self, request: Request) -> str | None:
        host = request.headers.get("host", "")
        if host not in self._hosts:
            return "refused: another host"
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return "refused: another origin"
        given = [request.cookies.get(self._cookie), request.headers.get("x-token")]
        if request.url.path == "/":
            given.append(request.query_params.get("token"))
        known = self._token.encode()
        if not any(secrets.compare_digest(one.encode(), known) for one in given if one):
            return "refused: open the address that the command printed"
        if request.method == "POST":
            kind = request.headers.get("content-type", "").split(";")[0].strip()
            if kind != "application/json":
                return "refused: expected application/json"
        return None


def make_app(view: View, write: Callable[[str], Path], token: str, port: int) -> Guard:
    """Return the ASGI application.

    Parameters
    ----------
    view : View
    write : callable
        Writes "labels", "table", "report" or "model"; returns the path.
    token : str
    port : int
    """
    session = view.session

    def page(request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    def table(request: Request) -> Response:
        return JSONResponse(view.description)

    def positions(request: Request) -> Response:
        return _binary(view.positions())

    def state(request: Request) -> Response:
        return JSONResponse(session.state.describe())

    def predictions(request: Request) -> Response:
        return _binary(session.state.packed())

    def row(request: Request) -> Response:
        return JSONResponse(view.row(request.path_params["row"]))

    def rows(request: Request) -> Response:
        query = request.query_params
        count, offset = _number(query, "count", 100, 200), _number(query, "offset", 0, 2**31)
        descending = query.get("descending", "0") == "1"
        found = view.rows(query.get("sort", "row"), descending, offset, count, query.get("search"))
        return JSONResponse(found)

    def search(request: Request) -> Response:
        return JSONResponse({"rows": view.search(request.query_params.get("text", ""))})

    async def label(request: Request) -> Response:
        body = await _body(request)
        rows, name = body.get("rows"), body.get("class")
        if not isinstance(rows, list) or "class" not in body:
            raise ValueError('expected {"rows": [...], "class": name or null}')
        return JSONResponse({"version": await run_in_threadpool(session.label, rows, name)})

    def undo(request: Request) -> Response:
        return JSONResponse({"version": session.undo()})

    def redo(request: Request) -> Response:
        return JSONResponse({"version": session.redo()})

    async def write_file(request: Request) -> Response:
        what = (await _body(request)).get("what")
        if what not in ("labels", "table", "report", "model"):
            raise ValueError(f"what: expected labels, table, report or model, got {what!r}")
        return JSONResponse({"path": str(await run_in_threadpool(write, what))})

    async def events(request: Request) -> Response:
        return StreamingResponse(_events(session, request.app), media_type="text/event-stream")

    routes = [
        Route("/", page),
        Route("/api/table", table),
        Route("/api/positions", positions),
        Route("/api/state", state),
        Route("/api/predictions", predictions),
        Route("/api/row/{row:int}", row),
        Route("/api/rows", rows),
        Route("/api/search", search),
        Route("/api/label", label, methods=["POST"]),
        Route("/api/undo", undo, methods=["POST"]),
        Route("/api/redo", redo, methods=["POST"]),
        Route("/api/write", write_file, methods=["POST"]),
        Route("/api/events", events),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    app = Starlette(routes=routes, exception_handlers={ValueError: _refuse, OSError: _refuse})
    return Guard(app, token, port)


def _refuse(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)


def _binary(data: bytes) -> Response:
    return Response(data, media_type="application/octet-stream")


def _number(query: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = query.get(name, str(default))
    if not text.isdecimal() or len(text) > 12:
        raise ValueError(f"{name}: expected a number, got {text[:20]!r}")
    return min(int(text), most)


async def _body(request: Request) -> dict[str, Any]:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > _LARGEST_BODY:
            raise ValueError(f"expected at most {_LARGEST_BODY} bytes")
        parts.append(part)
    try:
        body = json.loads(b"".join(parts))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise ValueError("expected a JSON object")
    return body


async def _events(session: Session, app: Any) -> AsyncIterator[str]:
    """Yield the version after every change."""
    loop, changed, sent, quiet = asyncio.get_running_loop(), asyncio.Event(), 0, 0.0

    def note() -> None:
        with contextlib.suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(changed.set)

    stop = session.listen(note)
    try:
        while not app.state.server.should_exit:
            if sent != (version := session.state.version):
                yield f"event: version\ndata: {version}\n\n"
                sent, quiet = version, 0.0
            try:
                await asyncio.wait_for(changed.wait(), 0.25)
            except TimeoutError:
                quiet += 0.25
            changed.clear()
            if quiet >= _PING:  # notices a closed tab
                yield ":\n\n"
                quiet = 0.0
        yield "event: bye\ndata: 0\n\n"
    finally:
        stop()


def new_token() -> str:
    """Return the secret in ``LOWRANKGCN_STUDIO_TOKEN``, or one that cannot be guessed."""
    given = os.environ.get(_TOKEN, "")
    if given and not re.fullmatch(r"[A-Za-z0-9_-]{16,}", given):
        raise invalid(_TOKEN, "at least 16 letters, digits, - or _", f"{len(given)} characters")
    return given or secrets.token_urlsafe(24)


def listen(port: int) -> socket.socket:
    """Return a socket on 127.0.0.1 at a port, or at another one if that is taken."""
    for wanted in (port, 0):
        # With this protocol, asyncio sends answers without the delay of Nagle's algorithm (40 ms).
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        # A server that ended a moment ago does not keep its port.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", wanted))
            listener.listen(128)
            return listener
        except OSError:
            listener.close()
    raise OSError("no free port on 127.0.0.1")


def serve(guard: Guard, listener: socket.socket) -> None:
    """Serve until the process is interrupted."""
    config = uvicorn.Config(
        guard,
        log_level="critical",
        lifespan="off",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    guard.app.state.server = server
    server.run(sockets=[listener])
