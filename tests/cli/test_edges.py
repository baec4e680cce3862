"""Commands on the nodes of a graph."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import lowrankgcn as lg
from tests.cli.commands import call, refused
from tests.studio.client import Client
from tests.studio.running import studio

CLUB = nx.karate_club_graph()
MEMBERS = [CLUB.nodes[node]["club"] for node in CLUB]
LABELS = [club if node in (0, 1, 32, 33) else None for node, club in enumerate(MEMBERS)]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Write the club as a table of people and two tables of edges, by number and by name."""
    names = [f"person {node}" for node in CLUB]
    path = tmp_path / "people.csv"
    pd.DataFrame({"name": names, "club": LABELS}).to_csv(path, index=False)
    edges = [(a, b, data["weight"]) for a, b, data in CLUB.edges(data=True)]
    named = pd.DataFrame([(names[a], names[b], w) for a, b, w in edges], columns=list("abw"))
    named.to_csv(tmp_path / "named.csv", index=False)
    numbered = pd.DataFrame([(a + 1, b + 1) for a, b, _ in edges], columns=["from", "to"])
    numbered.to_csv(tmp_path / "numbered.csv", index=False)
    return path


@pytest.mark.parametrize("method", ["gp", "gcn"])
def test_classify_equals_the_library(people: Path, capsys: Capture, method: str) -> None:
    edges = ["--edges", str(people.with_name("named.csv")), "--key", "name"]
    out = people.with_name("out.csv")
    arguments = [str(people), "-t", "club", *edges, "--method", method, "--out", str(out)]
    assert call("classify", *arguments, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["columns"] == {} and document["graph"] == "given graph"
    graph = lg.AdjacencyGraph.from_networkx(CLUB)
    kind = lg.SpectralGPClassifier if method == "gp" else lg.GCNClassifier
    expected = kind(random_state=0).fit(graph, np.array(LABELS, object))
    written = pd.read_csv(out)
    assert written["prediction"].tolist() == expected.transduction_.tolist()
    unknown = written["club"].isna()
    best = expected.label_distributions_.max(axis=1)
    np.testing.assert_allclose(written["probability"][unknown], best[unknown], atol=1e-5)
    assert (expected.transduction_ == np.array(MEMBERS)).mean() > 0.9


def test_what_is_done_to_edges_is_said(people: Path, capsys: Capture) -> None:
    """Console, JSON and report repeat the warnings of Python, and name loops and repetitions."""
    named = people.with_name("named.csv")
    edges = pd.read_csv(named)
    first = edges.iloc[[0]]
    back = first.assign(a=first.b, b=first.a, w=9.0)
    loop = first.assign(b=first.a)
    pd.concat([edges, first, back, loop]).to_csv(named, index=False)
    report = people.with_name("report.html")
    arguments = [str(people), "-t", "club", "--edges", str(named), "--key", "name"]
    assert call("classify", *arguments, "--json", "--report", str(report)) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert call("classify", *arguments) == 0
    shown, page = capsys.readouterr(), report.read_text()
    for text in ("weights of both directions differ by up to 1;", "1 edge joins a row to itself"):
        assert any(text in note for note in notes) and text in page
        assert text in " ".join((shown.out + shown.err).split())
    assert any("1 edge is listed again; the weights add up" in note for note in notes)


def test_what_is_estimated_is_said(people: Path, capsys: Capture) -> None:
    """Console, JSON and report name the random projections of wide features."""
    words = np.random.default_rng(0).random((34, 140)) < 0.1 + 0.1 * np.arange(2).repeat(70)
    names = [f"word{j}" for j in range(140)]
    table = pd.concat([pd.read_csv(people), pd.DataFrame(words * 1, columns=names)], axis=1)
    table.to_csv(people, index=False)
    edges, report = people.with_name("named.csv"), people.with_name("report.html")
    arguments = [str(people), "-t", "club", "--edges", str(edges), "--key", "name"]
    assert call("classify", *arguments, "--json", "--report", str(report)) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert call("classify", *arguments) == 0
    shown = capsys.readouterr()
    text = "norms of propagated features are estimated by 128 random projections, with an error"
    assert sum(text in note for note in notes) == 1 and text in report.read_text()
    assert text in " ".join((shown.out + shown.err).split())


def test_hyperedges(people: Path, capsys: Capture) -> None:
    """Everybody and their friends form a hyperedge."""
    members = [
        (f"person {one}", f"friends of {node}") for node in CLUB for one in [node, *CLUB[node]]
    ]
    path, out = people.with_name("hyperedges.csv"), people.with_name("out.csv")
    pd.DataFrame(members, columns=["name", "circle"]).to_csv(path, index=False)
    options = ["-t", "club", "--hyperedges", str(path), "--key", "name", "--out", str(out)]
    assert call("classify", str(people), *options, "--method", "gcn", "--json") == 0
    assert json.loads(capsys.readouterr().out)["graph"] == "hypergraph"
    graph = lg.Hypergraph.from_node_sets([[node, *CLUB[node]] for node in CLUB])
    expected = lg.GCNClassifier(random_state=0).fit(graph, np.array(LABELS, object))
    assert pd.read_csv(out)["prediction"].tolist() == expected.transduction_.tolist()
    for cells, message in (
        (["person 1", None], "column 'circle': expected hyperedges, got an empty cell"),
        (["person 1"], "expected two columns with rows and their hyperedges, got 1 column"),
        (["nobody", "all"], "nobody"),
    ):
        pd.DataFrame([cells], columns=["name", "circle"][: len(cells)]).to_csv(path, index=False)
        assert message in refused(capsys, "classify", str(people), *options)
    edges = ["--edges", str(people.with_name("named.csv"))]
    assert "--hyperedges: not with --edges" in refused(
        capsys, "classify", str(people), *options, *edges
    )


def test_compare_with_networks_on_the_graph(people: Path, capsys: Capture) -> None:
    age = np.arange(34) % 7 + 2.0 * (np.array(MEMBERS) == "Officer")
    pd.read_csv(people).assign(club=MEMBERS, age=age).to_csv(people, index=False)
    pytest.importorskip("torch_geometric")
    chosen = ["gp", "gcn", "pyg-gcn", "pyg-sgc", "pyg-appnp", "propagation"]
    edges = ["--edges", str(people.with_name("named.csv")), "--key", "name"]
    options = ["--splits", "2", "-l", "4", "--json", "--methods", ",".join(chosen)]
    assert call("compare", str(people), "-t", "club", *edges, *options) == 0
    document = json.loads(capsys.readouterr().out)
    shown = {one["method"]: one["accuracy"] for one in document["results"][0]["methods"]}
    assert list(shown) == chosen and not document["failures"]
    assert shown["gcn"] > 0.7 and shown["propagation"] > 0.8
    assert "needs a graph of the rows" in refused(capsys, "compare", "iris", "--methods", "pyg-gcn")


def test_columns_are_used_beside_the_graph(people: Path, capsys: Capture) -> None:
    frame = pd.read_csv(people).assign(age=np.arange(34) % 7 + 0.5)
    frame.to_csv(people, index=False)
    edges, report = people.with_name("numbered.csv"), people.with_name("report.html")
    options = ["--edges", str(edges), "--report", str(report), "--json"]
    assert call("classify", str(people), "-t", "club", *options) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document["columns"]) == ["age"]
    assert {"linear", "given-6"} <= set(document["block_shares"])
    assert report.stat().st_size > 10_000


@pytest.mark.parametrize("target", ["club", "team"])
def test_suggest_shows_names(people: Path, capsys: Capture, target: str) -> None:
    edges = ["--edges", str(people.with_name("named.csv")), "--key", "name"]
    options = [*edges, "--drop", "club"] if target == "team" else edges
    assert call("suggest", str(people), "-t", target, *options, "-k", "3", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [one["values"]["name"] for one in rows] == [f"person {one['row'] - 1}" for one in rows]


def test_studio_shows_a_graph(people: Path) -> None:
    pytest.importorskip("starlette", reason="needs lowrankgcn[studio]")
    edges = ["--edges", str(people.with_name("named.csv")), "--key", "name"]
    with studio(people, "club", *edges) as running:
        client = Client(running)
        found = client.settled()
        places = np.frombuffer(client.send("GET", "/api/positions")[2], "<f4").reshape(34, 2)
        row = client.get("row/5") | client.get("reasons/5")
        assert "--edges" in client.post("write", what="model")["error"]
        client.label(5, "Mr. Hi")
        client.settled()
        written = client.post("write", what="table")["path"]
    out, journal = people.with_name("out.csv"), f"{people}.labels.jsonl"
    options = [*edges, "--labels", journal, "--out", str(out)]
    assert call("classify", str(people), "-t", "club", *options) == 0
    assert out.read_text() == Path(written).read_text()
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    joined = distances[tuple(np.array(CLUB.edges).T)]
    assert found["labelled"] == 4 and joined.mean() < 0.5 * distances.mean()
    assert row["cells"] == [["name", "person 5"]] and row["neighbours"] and not row["reasons"]
    assert row["links"] == sorted(CLUB[5])


@pytest.mark.parametrize("option", ["--edges", "--hyperedges"])
def test_studio_explains_words_on_a_graph(people: Path, option: str) -> None:
    """Rows with many columns lie on a map, and their reasons are columns."""
    pytest.importorskip("starlette", reason="needs lowrankgcn[studio]")
    left = np.array([club == "Mr. Hi" for club in MEMBERS])[:, None]
    chances = np.where((np.arange(60) % 2 == 0) == left, 0.3, 0.05)
    words = pd.DataFrame(1 * (np.random.default_rng(0).random((34, 60)) < chances))
    pd.concat([pd.read_csv(people), words.add_prefix("w")], axis=1).to_csv(people, index=False)
    file = people.with_name("numbered.csv")
    with studio(people, "club", option, str(file)) as running:
        client = Client(running)
        client.settled()
        places = np.frombuffer(client.send("GET", "/api/positions")[2], "<f4").reshape(34, 2)
        row = client.get("row/5") | client.get("reasons/5")
    assert np.isfinite(places).all() and len(np.unique(places, axis=0)) > 20
    assert row["links"] and row["neighbours"]
    assert all(one["column"].startswith("w") for one in row["reasons"]) and row["reasons"]


def test_rows_without_a_key_have_no_edges(people: Path, capsys: Capture) -> None:
    frame = pd.read_csv(people)
    frame.loc[[11, 12], "name"] = None  # both have an edge to person 0
    frame.to_csv(people, index=False)
    named = people.with_name("named.csv")
    edges = ["--edges", str(named), "--key", "name"]
    assert "no row 'person 11', 'person 12'" in refused(
        capsys, "classify", str(people), "-t", "club", *edges
    )
    known = pd.read_csv(named)
    known[~known.isin(["person 11", "person 12"]).any(axis=1)].to_csv(named, index=False)
    out = people.with_name("out.csv")
    assert call("classify", str(people), "-t", "club", *edges, "--out", str(out)) == 0
    assert "2 of 34 rows belong to parts of the graph without any label" in capsys.readouterr().err
    graph = CLUB.copy()
    graph.remove_edges_from([*CLUB.edges(11), *CLUB.edges(12)])
    with pytest.warns(lg.UnlabelledComponentWarning, match="predictions are arbitrary"):
        expected = lg.SpectralGPClassifier(random_state=0).fit(
            lg.AdjacencyGraph.from_networkx(graph), np.array(LABELS, object)
        )
    assert pd.read_csv(out)["prediction"].tolist() == expected.transduction_.tolist()


def test_decimal_commas_of_weights(people: Path) -> None:
    named = people.with_name("named.csv")
    frame = pd.read_csv(named)
    frame["w"] += 0.5
    options = ["-t", "club", "--key", "name", "--edges"]
    for name, marks in {"points.csv": (",", "."), "commas.csv": (";", ",")}.items():
        path = people.with_name(name)
        frame.to_csv(path, index=False, sep=marks[0], decimal=marks[1])
        out = path.with_suffix(".out.csv")
        assert call("classify", str(people), *options, str(path), "--out", str(out)) == 0
    written = [people.with_name(f"{name}.out.csv").read_text() for name in ("points", "commas")]
    assert written[0] == written[1]


def test_studio_of_a_table_without_columns(people: Path) -> None:
    pytest.importorskip("starlette", reason="needs lowrankgcn[studio]")
    pd.read_csv(people)[["club"]].to_csv(people, index=False, na_rep=" ")
    edges = ["--edges", str(people.with_name("numbered.csv"))]
    with studio(people, "club", *edges) as running:
        client = Client(running)
        client.label(5, "Mr. Hi")
        assert client.settled()["labelled"] == 5
        written = client.post("write", what="table")["path"]
    journal = ["--labels", f"{people}.labels.jsonl"]
    out = people.with_name("out.csv")
    assert call("classify", str(people), "-t", "club", *edges, *journal, "--out", str(out)) == 0
    assert out.read_text() == Path(written).read_text()


def test_bad_input(people: Path, capsys: Capture) -> None:
    folder = people.parent
    (folder / "one.csv").write_text("a\n1\n")
    (folder / "far.csv").write_text("a,b\n1,35\n")
    (folder / "negative.csv").write_text("a,b,w\n1,2,-1\n")
    (folder / "gap.csv").write_text("a,b\n1,2\n,3\n")
    (folder / "light.csv").write_text("a;b;w\n1;2;0,5\n2;3;\n")
    (folder / "bare.csv").write_text("1,2\n2,3\n")
    (folder / "names.csv").write_text("person 1,person 2\nperson 2,person 3\n")
    for arguments, message in (
        (["--edges", "named.csv"], "--key names the column"),
        (["--edges", "one.csv"], "got 1 column\n"),
        (
            ["--edges", "gap.csv"],
            "column 'a': expected row numbers from 1 to 34, got an empty cell",
        ),
        (["--edges", "gap.csv", "--key", "name"], "expected values of 'name', got an empty cell"),
        (
            ["--edges", "light.csv"],
            "column 'w': expected a weight for every edge, got an empty cell",
        ),
        (["--edges", "bare.csv"], "expected names of the columns in the first line, got '1', '2'"),
        (
            ["--edges", "names.csv", "--key", "name"],
            "in the first line, got 'person 1', 'person 2'",
        ),
        (["--edges", "far.csv"], "expected row numbers from 1 to 34, got 35"),
        (["--edges", "negative.csv"], "weights"),
        (["--edges", "absent.csv"], "No such file"),
        (["--edges", "named.csv", "--key", "club"], "--key: expected different values"),
        (["--edges", "numbered.csv", "--graph", "knn"], "--graph: not with --edges"),
        (["--edges", "numbered.csv", "--save", "model"], "--save: not with --edges"),
        (
            ["--edges", "numbered.csv", "--method", "gcn", "--bandwidth", "1"],
            "--bandwidth: not with --edges",
        ),
        (["--edges", "numbered.csv", "--out", "numbered.csv"], "--out"),
        (["--key", "name"], "--key: only with --labels, --edges or --hyperedges"),
    ):
        given = [str(folder / one) if one.endswith((".csv", "model")) else one for one in arguments]
        assert message in refused(capsys, "classify", str(people), "-t", "club", *given)
    assert not (folder / "model").exists()
