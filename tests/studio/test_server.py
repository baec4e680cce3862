"""The studio over HTTP: access, labels, files on disk, and how the process ends."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lowrankgcn as lg
from tests.cli.commands import call, refused
from tests.studio.client import JSON, Client
from tests.studio.running import Studio, iris, studio, studio_process

pytest.importorskip("starlette", reason="needs lowrankgcn[studio]")
pytest.importorskip("uvicorn", reason="needs lowrankgcn[studio]")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of graphs, in threads

HOSTILE = ['<script>alert("1")</script>', "\u202eright to left\u202c", "x" * 100_000, "=1+1", ""]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    folder = tmp_path_factory.mktemp("studio")
    (folder / "secret.txt").write_text("secret")
    path, truth = iris(folder)
    frame = pd.read_csv(path)
    frame["note"] = [HOSTILE[k % 5] for k in range(len(frame))]
    frame["species"] = [name if k % 30 == 0 else None for k, name in enumerate(truth)]
    frame.to_csv(path, index=False)
    with studio(path, "species") as one:
        yield one


@pytest.fixture(scope="module")
def client(running: Studio) -> Client:
    return Client(running)


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/api/table", "/api/events", "/other"])
def test_no_request_without_the_token(client: Client, path: str) -> None:
    wrong: list[dict[str, str]] = [{}, {"x-token": "wrong"}, {"cookie": "studio_8765=wrong"}]
    for sent in wrong:
        status, headers, body = client.send("GET", path, sent)
        assert status == 403 and b"refused" in body and "set-cookie" not in headers, sent
        assert client.send("GET", f"{path}?token=wrong", sent)[0] == 403, sent


def test_token_in_the_address_opens_the_page_only(client: Client) -> None:
    query = f"?token={client.token}"
    assert client.send("GET", f"/api/table{query}", {})[0] == 403
    status, headers, body = client.send("GET", f"/{query}", {})
    assert status == 200 and b"<html" in body
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer" and headers["cache-control"] == "no-store"
    known = {"cookie": cookie.partition(";")[0]}
    status, headers, _ = client.send("GET", "/static/main.js", known)
    assert status == 200 and "javascript" in headers["content-type"]


def test_other_hosts_origins_and_forms_are_refused(client: Client) -> None:
    before = client.get("state")["labelled"]
    known = {"x-token": client.token, **JSON}
    for name, value in (
        ("host", "evil.example"),
        ("host", "127.0.0.1"),
        ("host", f"evil.example:{client.port}"),
        ("origin", "http://evil.example"),
        ("origin", "http://127.0.0.1:1"),
        ("origin", "null"),
        ("content-type", "text/plain"),
        ("content-type", "application/x-www-form-urlencoded"),
    ):
        body = {"rows": [5], "class": "evil"}
        assert client.send("POST", "/api/label", {**known, name: value}, body)[0] == 403, value
    assert client.get("state")["labelled"] == before
    own = known | {"origin": f"http://localhost:{client.port}", "host": f"localhost:{client.port}"}
    assert client.send("POST", "/api/label", own, {"rows": [], "class": None})[0] == 200


def test_no_file_outside_the_page(client: Client) -> None:
    for path in (
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2f..%2fcli/app.py",
        "/static//etc/passwd",
        "/static/%2fetc/passwd",
        "/static/",
        "/secret.txt",
        "//etc/passwd",
    ):
        status, _, body = client.send("GET", path)
        assert status == 404 and b"import" not in body and b"secret" not in body, path


def test_table_rows_search_and_order(client: Client) -> None:
    table = client.get("table")
    assert (table["name"], table["rows"], table["target"]) == ("iris.csv", 150, "species")
    kinds = [column["kind"] for column in table["columns"]]
    assert kinds == ["number"] * 4 + ["category"] and table["space"] == "embedding"
    positions = np.frombuffer(client.send("GET", "/api/positions")[2], "<f4")
    assert positions.shape == (300,) and np.abs(positions).max() <= 1
    assert len(np.unique(positions.round(3))) > 100
    found = client.get("rows?sort=column:petal%20length%20(cm)&descending=1&count=3")
    assert [row["cells"][2] for row in found["rows"]] == ["6.9", "6.7", "6.7"]
    assert client.get("rows?offset=149&count=200")["rows"][0]["row"] == 149
    assert client.get("rows?search=RIGHT")["total"] == 30
    found = np.frombuffer(client.send("GET", "/api/search?text=%3Cscript")[2], np.uint8)
    assert np.flatnonzero(found).tolist() == list(range(0, 150, 5))
    for sort in ("uncertainty", "probability", "label", "prediction", "column:note"):
        for order in "01":
            rows = client.get(f"rows?sort={sort}&descending={order}&count=200")["rows"]
            assert sorted(row["row"] for row in rows) == list(range(150))
            if sort in ("label", "column:note"):  # rows without come last in both orders
                key = [r["label"] if sort == "label" else r["cells"][4] for r in rows]
                assert None not in key[: 5 if sort == "label" else 120]


def test_hostile_cells_stay_texts(client: Client) -> None:
    client.settled()
    for row in range(5):
        one = client.get(f"row/{row}")
        assert one["cells"][4] == ["note", HOSTILE[row] or None]
        why = client.get(f"reasons/{row}")
        assert len(why["neighbours"]) in (4, 5) and len(why["reasons"]) == 3
        assert abs(sum(share for _, share in one["probabilities"]) - 1) < 1e-9
    short = client.get("rows?count=5")["rows"][2]["cells"][4]
    assert len(short) == 200 and short.endswith("…")


BAD_REQUESTS: list[tuple[str, str, object]] = [
    ("GET", "/api/row/150", None),
    ("GET", "/api/reasons/150", None),
    ("GET", "/api/rows?sort=column:nothing", None),
    ("GET", "/api/rows?sort=nothing", None),
    ("GET", "/api/rows?count=-1", None),
    ("GET", "/api/rows?offset=1e9", None),
    ("POST", "/api/label", {"rows": [150], "class": "a"}),
    ("POST", "/api/label", {"rows": [-1], "class": "a"}),
    ("POST", "/api/label", {"rows": [True], "class": "a"}),
    ("POST", "/api/label", {"rows": ["1"], "class": "a"}),
    ("POST", "/api/label", {"rows": 1, "class": "a"}),
    ("POST", "/api/label", {"rows": [1]}),
    ("POST", "/api/label", {"rows": [1], "class": "  "}),
    ("POST", "/api/label", {"rows": [1], "class": 7}),
    ("POST", "/api/label", {"rows": [1], "class": "a\nb"}),
    ("POST", "/api/label", {"rows": [1], "class": "\ud800"}),
    ("POST", "/api/label", {"rows": [1], "class": "x" * 5000}),
    ("POST", "/api/label", b"[" * 100_000),
    ("POST", "/api/label", b"not json"),
    ("POST", "/api/classes", {"order": [["a"]], "renamed": {}}),
    ("POST", "/api/classes", {"order": ["a"], "renamed": {"a": ["b"]}}),
    ("POST", "/api/write", {"what": "../../evil"}),
]


def test_bad_requests_are_named(client: Client) -> None:
    before = client.get("state")["labelled"]
    for method, path, body in BAD_REQUESTS:
        status, _, answer = client.send(method, path, body=body)
        assert status == 400 and json.loads(answer)["error"], (path, body)
    assert client.get("state")["labelled"] == before


def test_labels_undo_redo_and_the_journal_after_a_kill(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, truth = iris(tmp_path)
    frame = pd.read_csv(path).drop(columns="species")  # the target need not be there yet
    frame.to_csv(path, index=False)
    before = path.read_bytes()
    journal = path.with_name("iris.csv.labels.jsonl")
    with studio_process(path, "species") as running:
        client = Client(running)
        state = client.settled()
        assert state["classes"] == [] and len(state["suggestions"]) == 10
        assert set(client.predictions()[1].tolist()) == {65535}
        for row in (0, 60, 120):
            client.label(row, truth[row])
        client.label(61, "vrginica")
        client.post("undo")
        client.post("undo")
        assert client.settled()["labelled"] == 2
        client.post("redo")
        assert client.get("state")["redo"] and client.settled()["labelled"] == 3
        client.post("label", **{"rows": [1, 2, 3], "class": "setosa"})
        client.post("label", **{"rows": [1, 2], "class": None})
        assert client.settled()["labelled"] == 4
        running.kill()
    lines = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    hashes = [line.pop("cells") + line.pop("columns") for line in lines]
    assert all(re.fullmatch(r"[-0-9]{10}T[:0-9]{8}Z", line.pop("time")) for line in lines)
    assert len(set(hashes)) == 7 and hashes[2] == hashes[5]
    assert lines[3:6] == [
        {"row": 62, "species": "vrginica"},
        {"row": 62, "species": None, "removed": True, "step": "undo"},
        {"row": 121, "species": None, "removed": True, "step": "undo"},
    ]
    with open(journal, "ab") as file:
        file.write(b'{"row": 5, "spec')  # the process was killed while it wrote a line
    with studio(path, "species") as running:
        client = Client(running)
        state = client.settled()
        assert state["labelled"] == 4 and state["undo"] and not state["redo"]
        assert [one["name"] for one in state["classes"]][:3] == [truth[0], truth[60], truth[120]]
        _, codes, certainty, flags = client.predictions()
        assert np.flatnonzero(flags).tolist() == [0, 3, 60, 120] and certainty[0] == 255
        names = np.array([one["name"] for one in state["classes"]])[codes]
        assert (names == truth).mean() > 0.7
        client.post("undo")  # what was labelled together is undone together
        assert client.settled()["labelled"] == 6
        client.post("redo")
        client.label(4, "setosa")
        capsys.readouterr()
        error = refused(capsys, "studio", str(path), "--target", "species", "--no-browser")
        assert "another studio has this table open" in error
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name, journal.name]
    text = journal.read_text("utf-8").splitlines()
    assert json.loads(text[-1]).items() >= {"row": 5, "species": "setosa"}.items()


def test_files_equal_those_of_a_fresh_fit(tmp_path: Path) -> None:
    path, truth = iris(tmp_path)
    (tmp_path / "iris.model").write_text("of another run")
    with studio(path, "species", "--seed", "3") as running:
        client = Client(running)
        assert "two classes" in client.post("write", what="table")["error"]
        for row in range(0, 150, 15):
            client.label(row, truth[row])
        client.label(30, None)
        found = {
            what: Path(client.post("write", what=what)["path"])
            for what in ("labels", "table", "report", "model")
        }
    names = {what: file.name for what, file in found.items()}
    assert names == {
        "labels": "iris.labelled.csv",
        "table": "iris.classified.csv",
        "report": "iris.report.html",
        "model": "iris-2.model",
    }
    assert (tmp_path / "iris.model").read_text() == "of another run"
    labelled = pd.read_csv(found["labels"], dtype={"species": object})
    expected = [truth[k] if k % 15 == 0 and k != 30 else None for k in range(150)]
    assert labelled["species"].where(labelled["species"].notna(), None).tolist() == expected
    features = labelled.drop(columns="species")
    fresh = lg.SpectralGPClassifier(random_state=3).fit(features, expected)
    classified = pd.read_csv(found["table"])
    unlabelled = np.array([name is None for name in expected])
    assert (classified["prediction"] == fresh.transduction_)[unlabelled].all()
    top = fresh.label_distributions_.max(axis=1)
    np.testing.assert_allclose(classified["probability"][unlabelled], top[unlabelled], atol=1e-6)
    again = tmp_path / "again.csv"
    journal = path.with_name("iris.csv.labels.jsonl")
    options = ["--labels", str(journal), "--seed", "3", "--out", str(again), "--quiet"]
    assert call("classify", str(path), "--target", "species", *options) == 0
    assert again.read_text() == found["table"].read_text()
    loaded = lg.load(found["model"])
    np.testing.assert_allclose(
        loaded.predict_proba(features), fresh.predict_proba(features), atol=1e-6
    )
    assert "<html" in found["report"].read_text("utf-8")


def test_two_tabs_concurrent_labels_and_ctrl_c(tmp_path: Path) -> None:
    path, truth = iris(tmp_path)
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    port = str(taken.getsockname()[1])
    with taken, studio_process(path, "species", "--port", port) as running:
        assert running.port != taken.getsockname()[1]
        client = Client(running)
        tabs = [http.client.HTTPConnection("127.0.0.1", running.port, timeout=60) for _ in "ab"]
        for tab in tabs:
            tab.request("GET", f"{client.root}api/events", headers={"x-token": client.token})
        streams = [tab.getresponse() for tab in tabs]
        threads = [
            threading.Thread(
                target=lambda k=k: [client.label(r, truth[r]) for r in range(k, 40, 4)]
            )
            for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client.label(140, truth[140])
        last = client.settled()["version"]
        assert client.get("state")["labelled"] == 41
        for stream in streams:
            seen = 0
            while seen < last:
                line = stream.readline().decode().strip()
                if line.startswith("data: "):
                    seen, before = int(line[6:]), seen
                    assert seen > before
        os.kill(running.process.pid, signal.SIGINT)
        assert running.process.wait(20) in (0, 130)
        for tab, stream in zip(tabs, streams, strict=True):
            assert b"bye" in stream.read()
            stream.close()
            tab.close()
    text = path.with_name("iris.csv.labels.jsonl").read_text("utf-8")
    assert sorted(json.loads(line)["row"] for line in text.splitlines()) == [*range(1, 41), 141]
