"""A real browser that tests can drive: pages, keys, clicks, pictures.

Chromium is driven through the two pipes of its DevTools protocol, which needs no other package.
"""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.browser import BROWSER

_SECONDS = 30.0
_KEYS = {"Escape": 27, "Enter": 13, "Delete": 46, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9}
_QUIET = ("--headless", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars")
_QUIET += ("--no-first-run", "--disable-background-networking", "--disable-extensions")
_QUIET += ("--disable-background-timer-throttling", "--disable-renderer-backgrounding")
_DRAW = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")  # WebGL without a graphics card

# Chromium reads commands from descriptor 3 and writes answers to 4.
_EXECUTE = """import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for number, end in enumerate(ends, start=3):
    os.dup2(end, number)
os.execvp(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One browser; `page` opens tabs that share cookies."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader, self._writer = reader, writer
        self._buffer = b""
        self._last = 0
        self._pages: dict[str, Page] = {}
        self._targets: list[str] = []

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Return the browser's answer to a command."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._writer, data) :]
        while True:
            answer = self._receive()
            if answer.get("id") == message["id"]:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._reader], [], [], _SECONDS)
            assert ready, f"the browser did not answer within {_SECONDS} s"
            piece = os.read(self._reader, 1 << 20)
            assert piece, "the browser ended"
            self._buffer += piece
        head, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(head)
        page = self._pages.get(message.get("sessionId", ""))
        if page and "method" in message:
            page.heard(message["method"], message["params"])
        return message

    def page(self, url: str, *, width: int = 1400, height: int = 900, script: str = "") -> Page:
        """Open a tab; `script` runs in it before the page's own."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        answer = self.send("Target.attachToTarget", targetId=target, flatten=True)
        page = Page(self, answer["sessionId"])
        self._targets.append(target)
        self._pages[answer["sessionId"]] = page
        for domain in ("Page", "Runtime", "Log"):
            page.send(f"{domain}.enable")
        page.resize(width, height)
        if script:
            page.send("Page.addScriptToEvaluateOnNewDocument", source=script)
        page.go(url)
        return page

    def close_pages(self) -> None:
        """Close all tabs that were opened."""
        while self._targets:
            self.send("Target.closeTarget", targetId=self._targets.pop())
        self._pages.clear()


class Page:
    """One tab. `errors` collects exceptions and all that its console calls an error."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        self.errors: list[str] = []

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the browser's answer to a command for this tab."""
        return self._browser.send(method, self._session, **parameters)

    def heard(self, method: str, parameters: dict[str, Any]) -> None:
        """Keep what went wrong."""
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(parameters["exceptionDetails"])[:600])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(
                f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}"
            )
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.errors.append(json.dumps(parameters["args"])[:600])

    def go(self, url: str) -> None:
        """Open an address."""
        self.send("Page.navigate", url=url)

    def resize(self, width: int, height: int, *, phone: bool = False) -> None:
        """Give the window a size in pixels."""
        scale = 2 if phone else 1
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": phone}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        self.send("Emulation.setTouchEmulationEnabled", enabled=phone)

    def dark(self, on: bool = True) -> None:
        """Prefer dark colours, or light ones."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.send("Emulation.setEmulatedMedia", features=[feature])

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression; promises are awaited."""
        options = {"returnByValue": True, "awaitPromise": True}
        answer = self.send("Runtime.evaluate", expression=script, **options)
        assert "exceptionDetails" not in answer, f"{script}: {answer}"
        return answer["result"].get("value")

    def wait(self, script: str, seconds: float = _SECONDS) -> Any:
        """Return the value of an expression as soon as it is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            # While a page is loading, an expression may fail or lose its context.
            with suppress(AssertionError):
                if found := self.run(f"(async v => (await v) ? [await v] : null)({script})"):
                    return found[0]
            time.sleep(0.02)
        shown = self.run("document.body.innerText.slice(0, 2000)")
        raise AssertionError(f"not true within {seconds} s: {script}\n{self.errors}\n{shown}")

    def text(self, selector: str) -> str:
        """Return the text of an element."""
        return str(self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def key(self, key: str, *, shift: bool = False, control: bool = False) -> None:
        """Press and release a key."""
        code = _KEYS.get(key, ord(key[0].upper()))
        event = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 * shift + 2 * control}
        if (len(key) == 1 and not control) or key == "Enter":
            event["text"] = key if len(key) == 1 else "\r"
        self.send("Input.dispatchKeyEvent", type="keyDown", **event)
        event.pop("text", None)
        self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text: str) -> None:
        """Type a text into the element with the focus."""
        self.send("Input.insertText", text=text)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Move, press or release the mouse."""
        self.send("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        """Click at a place of the window."""
        self.send("Page.bringToFront")  # a tab in the background answers after seconds
        self.mouse("Moved", x, y)
        for kind in ("Pressed", "Released"):
            self.mouse(kind, x, y, button="left", buttons=1, clickCount=1)

    def box(self, selector: str) -> tuple[float, float, float, float]:
        """Return left, top, width and height of an element in the window."""
        box = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        left, top, width, height = self.run(f"(b => [b.x, b.y, b.width, b.height])({box})")
        return left, top, width, height

    def click_on(self, selector: str) -> None:
        """Click into the middle of an element, once it has stopped moving."""
        before = None
        while before != (box := self.box(selector)):  # predictions that arrive move lines
            before = box
            time.sleep(0.05)
        left, top, width, height = box
        self.click(left + width / 2, top + height / 2)

    def drag(self, places: list[tuple[float, float]], **more: Any) -> None:
        """Press the mouse at the first place, move through the others, release it at the last."""
        self.mouse("Moved", *places[0])
        self.mouse("Pressed", *places[0], button="left", buttons=1, clickCount=1, **more)
        for place in places[1:]:
            self.mouse("Moved", *place, button="left", buttons=1, **more)
        self.mouse("Released", *places[-1], button="left", clickCount=1, **more)

    def picture(self) -> bytes:
        """Return the window as a PNG file."""
        self.send("Page.bringToFront")  # a tab in the background is not drawn
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])


@contextmanager
def browser(*options: str) -> Iterator[Browser]:
    """Start a browser and end it."""
    assert BROWSER is not None
    (read_in, write_in), (read_out, write_out) = os.pipe(), os.pipe()
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [BROWSER, *_QUIET, *_DRAW, *options, "--remote-debugging-pipe"]
        command += [f"--user-data-dir={Path(folder) / 'profile'}", "about:blank"]
        process = subprocess.Popen(
            [sys.executable, "-c", _EXECUTE, str(read_in), str(write_out), *command],
            pass_fds=(read_in, write_out),
            stderr=subprocess.DEVNULL,
        )
        os.close(read_in)
        os.close(write_out)
        try:
            yield Browser(read_out, write_in)
        finally:
            _end(process, lambda: os.close(write_in))
            os.close(read_out)


def _end(process: subprocess.Popen[bytes], hang_up: Callable[[], None]) -> None:
    hang_up()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
