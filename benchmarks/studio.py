"""Times of the studio: until rows and map are there, from a label to new predictions, over HTTP.

Run ``python -m benchmarks studio``; ``--rows 10000,100000`` chooses the sizes. Wall-clock times on
one machine: run it on an idle one. With ``--browser``, Chromium shows the page, and the times are
those until the new colours are painted. ``--updates`` compares the immediate answer to a label with
that of the fit that follows, on tables of scikit-learn. ``--texts 200000`` prints the seconds, and
those of the processor, until the rows and the map of a table with two columns of texts are there.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

TARGETS = {10_000: 0.2, 100_000: 1.0, 1_000_000: 3.0}  # seconds
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)(/[\w-]+/)\?token=(\S+)")


def table(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return ten columns of numbers, one of categories, and the class of every row."""
    X, classes = make_classification(
        n, 10, n_informative=6, n_classes=3, class_sep=1.5, random_state=0
    )
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(10)]).round(4)
    frame["kind"] = np.array([*"abcdef"])[np.random.default_rng(0).integers(6, size=n)]
    return frame.assign(**{"class": None}), np.array(["ash", "elm", "oak"])[classes]


class Connection:
    """Requests to a studio, and its events."""

    def __init__(self, port: int, root: str, token: str) -> None:
        self._headers = {"x-token": token, "content-type": "application/json"}
        self._port, self._root = port, root
        stream = http.client.HTTPConnection("127.0.0.1", port)
        stream.request("GET", f"{root}api/events", headers=self._headers)
        self._events = stream.getresponse()

    def send(self, method: str, path: str, body: Any = None) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request(method, f"{self._root}api/{path}", data, self._headers)
        found = connection.getresponse().read()
        connection.close()
        return found

    def wait(self, ready: Any) -> dict[str, Any]:
        """Return the state as soon as it is ready."""
        while True:
            state: dict[str, Any] = json.loads(self.send("GET", "state"))
            if ready(state):
                return state
            while not self._events.readline().startswith(b"data"):
                pass


def measure(n: int, labels: int, folder: Path) -> None:
    frame, truth = table(n)
    path = folder / f"{n}.csv"
    frame.to_csv(path, index=False)
    begin = time.perf_counter()
    command = [sys.executable, "-m", "lowrankgcn", "studio", str(path), "--target", "class"]
    process = subprocess.Popen([*command, "--no-browser"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = next(filter(None, map(ADDRESS.search, process.stdout)))
    server = Connection(int(found[1]), found[2], found[3])
    server.send("GET", "rows?count=100")
    start = time.perf_counter() - begin
    server.send("GET", "positions")
    mapped = time.perf_counter() - begin
    state = server.wait(lambda state: not state["refreshing"])
    quick, settled, shown = [], [], b""
    for _ in range(labels):
        row = state["suggestions"][0]
        begin = time.perf_counter()
        answer = server.send("POST", "label", {"rows": [row], "class": str(truth[row])})
        version = json.loads(answer)["version"]
        server.wait(lambda state, version=version: state["fitted"] >= version)
        shown = server.send("GET", "predictions")
        quick.append(time.perf_counter() - begin)
        state = server.wait(lambda state: not state["refreshing"])
        settled.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    server.send("POST", "write", {"what": "table"})
    written = time.perf_counter() - begin
    codes = np.frombuffer(server.send("GET", "predictions"), "<u2", n, 8)
    names = np.array([one["name"] for one in state["classes"]] + [""])
    right = (names[np.minimum(codes, len(names) - 1)] == truth).mean()
    assert len(shown) == 8 + 4 * n
    memory = _peak(process.pid)
    os.kill(process.pid, signal.SIGINT)
    process.wait()
    times = [f"{np.quantile(quick, q):9.3f}" for q in (0.5, 1.0)] + [f"{np.median(settled):9.2f}"]
    print(
        f"{n:9,} {start:8.1f} {mapped:8.1f} {' '.join(times)} {TARGETS.get(n, np.nan):7} ", end=""
    )
    print(f"{written:7.1f} {memory:7.2f} {100 * right:7.1f}", flush=True)


_FIRST = 30  # frames until the page has noticed how fast it can draw
# Milliseconds between frames while the map is dragged to and fro.
_PAN = """new Promise(done => {
  const map = document.querySelector("#map .overlay"), box = map.getBoundingClientRect();
  const send = (kind, x) => map.dispatchEvent(new PointerEvent(`pointer${kind}`, {
    pointerId: 1, button: 0, clientX: box.left + x, clientY: box.top + 200, bubbles: true,
  }));
  map.setPointerCapture = () => {};
  const times = [];
  send("down", 300);
  const step = now => {
    times.push(now);
    send("move", 300 + 100 * Math.sin(times.length / 10));
    if (times.length < 100) return requestAnimationFrame(step);
    send("up", 300);
    done(times.slice(FIRST + 1).map((time, i) => time - times[i + FIRST]));
  };
  requestAnimationFrame(step);
})""".replace("FIRST", str(_FIRST))


def _pan(page: Any) -> tuple[float, float]:
    """Drag the map; return milliseconds per frame, and those of the page's thread alone."""

    def used() -> float:
        found = page.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in found if one["name"] == "TaskDuration"))

    page.send("Performance.enable", timeDomain="threadTicks")
    before = used()
    frames = page.run(_PAN)
    return float(np.median(frames)), 1000 * (used() - before) / (len(frames) + _FIRST)


def measure_page(n: int, labels: int, folder: Path) -> None:
    """Print the times until the page is shown, and from a key press to new colours."""
    from tests.studio.devtools import browser
    from tests.studio.page import WITHOUT_WEBGL, Person
    from tests.studio.running import studio_process

    frame, truth = table(n)
    path = folder / f"page-{n}.csv"
    frame.to_csv(path, index=False)
    begin = time.perf_counter()
    with studio_process(path, "class") as running, browser() as chromium:
        chromium.page(running.address).wait("document.querySelector('.line[data-row]')", 60)
        start = time.perf_counter() - begin
        person = Person(chromium, running)
        shown = time.perf_counter() - begin
        for count in range(1, labels + 1):
            person.assign(str(truth[person.next()]))
            person.labelled(count)
        entries = "performance.getEntriesByName('label → painted').map(entry => entry.duration)"
        times = np.array(person.page.wait(f"{entries}.length >= {labels} && {entries}")) / 1000
        frames = [*_pan(person.page), *_pan(Person(chromium, running, script=WITHOUT_WEBGL).page)]
    print(f"{n:9,} {start:8.1f} {shown:8.1f} {np.median(times):9.3f} {times.max():9.3f} ", end="")
    print(" ".join(f"{value:9.1f}" for value in frames), flush=True)


def text_table(n: int) -> pd.DataFrame:
    """Return two columns of texts of 5 and 40 words, a number, a category, and no labels."""
    rng = np.random.default_rng(0)
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in "aeiou"]
    words = np.array(["".join(rng.choice(syllables, rng.integers(2, 5))) for _ in range(5000)])
    shares = 1 / np.arange(1, 5001)

    def texts(length: int) -> list[str]:
        chosen = rng.choice(words, (n, length), p=shares / shares.sum())
        return [" ".join(one) for one in chosen]

    frame = pd.DataFrame({"subject": texts(5), "body": texts(40), "size": rng.normal(size=n)})
    kinds = np.array([*"abcdef"])[rng.integers(6, size=n)]
    return frame.round(3).assign(kind=kinds, topic=None)


def measure_texts(n: int, folder: Path) -> None:
    """Print wall-clock and processor seconds until the rows and the map are there."""
    path = folder / "texts.csv"
    text_table(n).to_csv(path, index=False)
    begin = time.perf_counter()
    command = [sys.executable, "-m", "lowrankgcn", "studio", str(path), "--target", "topic"]
    process = subprocess.Popen([*command, "--no-browser"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = next(filter(None, map(ADDRESS.search, process.stdout)))
    server = Connection(int(found[1]), found[2], found[3])
    for what in ("rows?count=100", "positions"):
        server.send("GET", what)
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        spent = time.perf_counter() - begin
        print(f"{what.partition('?')[0]:10} {spent:6.1f} s, {used:6.1f} s of the processor")
    os.kill(process.pid, signal.SIGINT)
    process.wait()


_SPANS = (2, 5, 10, 20, 50, 100, 200)  # labels


def measure_updates(seeds: int = 5) -> None:
    """Print the share of the rows whose class differs after the fit, by the number of labels."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

    from lowrankgcn.studio.engine import Engine

    found: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        data = load(as_frame=True)
        truth = data.target.astype(str).to_numpy(object)
        engine = Engine(data.data, {"random_state": 0})
        for seed in range(seeds):
            order = np.random.default_rng(seed).permutation(len(truth))
            for span in pairwise(_SPANS):
                for count in np.linspace(*span, 4, endpoint=False).astype(int):
                    if count >= len(truth) / 2:
                        continue
                    before, now = np.full((2, len(truth)), None)
                    before[order[:count]] = truth[order[:count]]
                    now[order[: count + 1]] = truth[order[: count + 1]]
                    base = engine.settle(before)
                    quick, settled = engine.update(base, now), engine.settle(now)
                    if quick is None or quick.distributions is None or base.distributions is None:
                        continue
                    shares = [_class_names(answer) for answer in (quick, settled, base)]
                    other = (shares[0] != shares[1]).mean(), (shares[2] != shares[1]).mean()
                    found.setdefault(span, []).append(other)
    print("   labels  changes   other class (%)       without an update (%)")
    print("                        mean  worst of ten     mean  worst of ten")
    for (low, high), values in sorted(found.items()):
        parts = 100 * np.array(values)
        worst = np.quantile(parts, 0.9, axis=0)
        mean = parts.mean(axis=0)
        print(f"{low:4}–{high - 1:<4} {len(parts):8} {mean[0]:10.1f} {worst[0]:13.1f}", end="")
        print(f" {mean[1]:8.1f} {worst[1]:13.1f}")


def _class_names(answer: Any) -> np.ndarray:
    names = np.array(answer.classes, object)
    return names[answer.distributions.argmax(axis=1)]


def _peak(pid: int) -> float:
    """Return the largest memory of a process in GB, on Linux."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text().splitlines() if status.exists() else ["VmHWM: nan kB"]
    return float(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1e6


def main() -> None:
    """Print one line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(map(str, TARGETS)))
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--browser", action="store_true", help="measure the page in Chromium")
    parser.add_argument("--updates", action="store_true", help="measure immediate answers")
    parser.add_argument("--texts", type=int, help="rows of a table with texts")
    given = parser.parse_args()
    if given.texts:
        with tempfile.TemporaryDirectory() as folder:
            measure_texts(given.texts, Path(folder))
        return
    if given.updates:
        measure_updates()
        return
    if given.browser:
        print(
            "     rows     rows      map   label → painted (s)  WebGL frame (ms)  canvas frame (ms)"
        )
        print(
            "             (s)       (s)    median   slowest       all  processor    all  processor"
        )
        with tempfile.TemporaryDirectory() as folder:
            for n in map(int, given.rows.split(",")):
                measure_page(n, given.labels, Path(folder))
        return
    print(
        "     rows     rows      map   label → predictions           target  write  memory   right"
    )
    print("        shown (s)       (s)    median   slowest   settled    (s)     (s)    (GB)    (%)")
    with tempfile.TemporaryDirectory() as folder:
        for n in map(int, given.rows.split(",")):
            measure(n, given.labels, Path(folder))


if __name__ == "__main__":
    main()
