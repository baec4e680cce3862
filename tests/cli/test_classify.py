"""`lowrankgcn classify` as a user runs it."""

from __future__ import annotations

import io
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris

import lowrankgcn as lg
from lowrankgcn.cli.predict import model_columns
from lowrankgcn.estimators.model_files import read_model
from lowrankgcn.files import choose_columns, read_file
from tests.cli.commands import call, feed, installed
from tests.support.each import each


@pytest.fixture(scope="module")
def flowers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with numbers, a category, a name for each row and a constant; 30 rows labelled."""
    iris = load_iris(as_frame=True)
    frame = iris.data.set_axis(["sl", "sw", "pl", "pw"], axis=1)
    frame.insert(0, "code", [f"{i:03d}" for i in range(150)])
    frame["wide"] = np.where(frame["pw"] > 1, "yes", "no")
    frame["unit"] = "cm"
    frame["kind"] = iris.target_names[iris.target]
    path = tmp_path_factory.mktemp("tables") / "flowers.csv"
    frame.to_csv(path.with_name("truth.csv"), index=False)
    frame.loc[frame.index % 5 > 0, "kind"] = None
    frame.to_csv(path, index=False)
    frame.to_parquet(path.with_suffix(".parquet"), index=False)
    frame.to_csv(path.with_name("euro.csv"), sep=";", decimal=",", index=False)
    return path


#: The networks of the paper.
NETWORK = ["--method", "gcn", "--graph", "hypergraph"]


def accuracy(frame: pd.DataFrame, flowers: Path) -> float:
    truth = pd.read_csv(flowers.with_name("truth.csv"))
    asked = pd.read_csv(flowers)["kind"].isna()
    return float((frame["prediction"].astype(object) == truth["kind"])[asked].mean())


@pytest.fixture(scope="module")
def run(flowers: Path) -> tuple[subprocess.CompletedProcess[str], Path]:
    """The installed command with all that it can write."""
    folder = flowers.parent / "all"
    folder.mkdir()
    out, report, model = (str(folder / name) for name in ("out.csv", "report.html", "f.model"))
    arguments = ["classify", str(flowers), "--target", "kind", "--out", out, "--report", report]
    arguments += ["--save", model, "--probabilities"]
    done = subprocess.run(
        [*installed(), *arguments], capture_output=True, text=True, timeout=240, check=False
    )
    return done, folder


class TestInstalledCommand:
    def test_summary(self, run: Any) -> None:
        done, _ = run
        assert done.returncode == 0, done.stderr
        steps = [line.rpartition(": ")[2] for line in done.stderr.splitlines()]
        assert all(re.search(r"\d m?s", left) for left in steps), done.stderr  # progress alone
        for said in (
            "flowers.csv: 150 rows, 5 columns used (4 numeric, 1 categorical)",
            "kind: 30 rows labelled, 120 to classify",
            "of 30 labelled rows predicted correctly without their own label; largest class",
            "largest class 33.3 %",
            "decided mostly by",
            "recall precision",
            "column 'code' is left out",
            "column 'unit' is left out",
            "setosa",
            "all/out.csv",
            "all/report.html",
            "all/f.model",
            "reading",
            "blocks",
            "writing",
        ):
            assert said in " ".join(done.stdout.split())

    def test_columns_of_the_table_are_unchanged(self, run: Any, flowers: Path) -> None:
        before, after = read_file(flowers).frame, read_file(run[1] / "out.csv").frame
        added = ["prediction", "probability", "loo_class", "loo_probability"]
        added += [f"probability_{name}" for name in ("setosa", "versicolor", "virginica")]
        assert after.columns.tolist() == [*before.columns, *added]
        pd.testing.assert_frame_equal(after[before.columns], before)

    def test_predictions(self, run: Any, flowers: Path) -> None:
        frame = pd.read_csv(run[1] / "out.csv")
        assert accuracy(frame, flowers) > 0.8
        given = frame["kind"].notna()
        assert (frame["prediction"] == frame["kind"])[given].all()
        each = frame[[f"probability_{name}" for name in ("setosa", "versicolor", "virginica")]]
        assert np.allclose(each.sum(axis=1), 1, atol=1e-5)
        names = each.columns.str.removeprefix("probability_")
        asked = each[~given].to_numpy()
        assert (names[asked.argmax(axis=1)] == frame["prediction"][~given]).all()
        assert (asked.max(axis=1) == frame["probability"][~given]).all()

    def test_report_and_model(self, run: Any) -> None:
        page = (run[1] / "report.html").read_text()
        assert "flowers.csv" in page
        assert "lowrankgcn classify /" in page
        classifier = lg.load(run[1] / "f.model")
        assert isinstance(classifier, lg.SpectralGPClassifier)
        assert classifier.classes_.tolist() == ["setosa", "versicolor", "virginica"]
        path = run[1] / "f.model"
        assert model_columns(path, read_model(path)).target == "kind"

    def test_nothing_else_is_written(self, run: Any) -> None:
        names = sorted(path.name for path in run[1].iterdir())
        assert names == ["f.model", "out.csv", "report.html"]

    def test_same_command_same_file(self, run: Any, flowers: Path, tmp_path: Path) -> None:
        out = tmp_path / "again.csv"
        arguments = ["classify", str(flowers), "-t", "kind", "-o", str(out), "--probabilities"]
        assert call(*arguments, "--quiet") == 0
        assert out.read_bytes() == (run[1] / "out.csv").read_bytes()


class TestOutput:
    def test_rows_to_standard_output(
        self, flowers: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        assert call("classify", str(flowers), "--target", "kind") == 0
        printed, said = capfd.readouterr()
        (tmp_path / "rows.csv").write_text(printed)
        rows = read_file(tmp_path / "rows.csv").frame
        assert len(rows) == 120
        assert rows["kind"].isna().all()
        assert rows["prediction"].notna().all()
        assert "120 to classify" in said

    def test_parquet_to_standard_output_is_csv(
        self,
        flowers: Path,
        monkeypatch: pytest.MonkeyPatch,
        capfdbinary: pytest.CaptureFixture[bytes],
    ) -> None:
        feed(monkeypatch, flowers.with_suffix(".parquet").read_bytes())
        assert call("classify", "-", "-t", "kind", "--out", "-", "--quiet") == 0
        captured = capfdbinary.readouterr()
        assert captured.err == b""
        frame = pd.read_csv(io.BytesIO(captured.out), keep_default_na=False)
        assert len(frame) == 150
        assert accuracy(frame, flowers) > 0.8

    def test_json(self, flowers: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert call("classify", str(flowers), "-t", "kind", "--json", "--seed", "3") == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        document = json.loads(captured.out)
        assert document["rows"] == 150
        assert document["labelled"] == 30
        assert document["seed"] == 3
        assert document["left_out"] == {"code": "identifier", "unit": "constant"}
        assert sum(counts["given"] for counts in document["classes"].values()) == 30
        assert sum(counts["predicted"] for counts in document["classes"].values()) == 120
        assert document["files"] == {}
        assert list(document["seconds"]) == [
            *("loading", "reading", "graphs", "blocks", "prediction", "importance", "writing"),
            "total",
        ]

    def test_json_equals_python(self, flowers: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert call("classify", str(flowers), "-t", "kind", "--json") == 0
        document = json.loads(capsys.readouterr().out)
        table = read_file(flowers)
        columns = choose_columns(table.frame, "kind")
        classifier = lg.SpectralGPClassifier(random_state=0)
        classifier.fit(columns.features(table.frame), columns.labels(table.frame))
        assert document["method"] == "gp"
        assert document["loo_accuracy"] == pytest.approx(classifier.loo_accuracy_)
        assert document["loo_interval"] == pytest.approx(list(classifier.loo_interval_))
        assert document["loo_log_loss"] == pytest.approx(classifier.loo_log_loss_)
        assert document["block_shares"] == pytest.approx(classifier.block_shares_)
        assert document["column_importance"] == pytest.approx(classifier.column_importance())
        assert document["loo_correct"] == classifier.evidence_.n_correct
        scores = classifier.evidence_.scores
        for place, counts in enumerate(document["classes"].values()):
            assert counts["recall"] == pytest.approx(scores["recall"][place])
            assert counts["precision"] == pytest.approx(scores["precision"][place])

    def test_semicolons_and_decimal_commas(self, flowers: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.csv"
        euro = flowers.with_name("euro.csv")
        assert call("classify", str(euro), "-t", "kind", "-o", str(out), "-q") == 0
        table = read_file(out)
        assert table.delimiter == ";"
        assert accuracy(table.frame, flowers) > 0.8
        before = read_file(euro).frame
        pd.testing.assert_frame_equal(table.frame[before.columns], before)

    def test_new_column_with_an_existing_name(
        self, flowers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        frame = read_file(flowers).frame
        frame["prediction"] = frame["wide"]
        path, out = tmp_path / "taken.csv", tmp_path / "out.csv"
        frame.to_csv(path, index=False)
        assert call("classify", str(path), "-t", "kind", "-o", str(out)) == 0
        assert "the new one is 'prediction_2'" in capsys.readouterr().out
        after = read_file(out).frame
        assert after.columns[-4:-2].tolist() == ["prediction_2", "probability"]
        assert after["prediction"].tolist() == frame["wide"].tolist()

    def test_integer_classes_stay_integers_in_parquet(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        truth = np.repeat([-1, 7], 30)
        frame = pd.DataFrame({"x": truth + rng.normal(0, 0.5, 60), "y": rng.random(60)})
        frame["kind"] = pd.array(np.where(np.arange(60) % 3, None, truth), dtype="Int16")
        path, out = tmp_path / "t.parquet", tmp_path / "out.parquet"
        frame.to_parquet(path, index=False)
        assert call("classify", str(path), "-t", "kind", "-o", str(out), "-q") == 0
        written = pq.read_table(out)
        assert str(written.schema.field("prediction").type) == "int16"
        assert np.mean(written["prediction"].to_numpy() == truth) > 0.95

    def test_empty_cells(self, flowers: Path, tmp_path: Path) -> None:
        frame = read_file(flowers).frame[["sl", "pl", "pw", "wide", "kind"]]
        frame.loc[frame.index % 7 == 1, "pl"] = None
        frame.loc[frame.index % 11 == 3, "wide"] = None
        path, out, model = tmp_path / "gaps.csv", tmp_path / "out.csv", str(tmp_path / "m")
        for columns in (["sl", "pl", "pw", "kind"], list(frame)):
            frame[columns].to_csv(path, index=False)
            arguments = ["classify", str(path), "-t", "kind", "-o", str(out), "--save", model]
            assert call(*arguments, "--quiet") == 0
            assert accuracy(read_file(out).frame, flowers) > 0.8
            assert call("predict", model, str(path), "-o", str(out), "--quiet") == 0
            assert accuracy(read_file(out).frame, flowers) > 0.8

    def test_rows_without_a_path_to_a_label(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        rows = [
            "red,small,a",
            "red,large,b",
            "red,small,",
            "red,large,",
            "blue,tiny,",
            "blue,tiny,",
        ]
        path, out = tmp_path / "t.csv", tmp_path / "out.csv"
        path.write_text("colour,size,kind\n" + "\n".join(rows) + "\n")
        assert call("classify", str(path), "-t", "kind", "-o", str(out), "--json", *NETWORK) == 0
        captured = capsys.readouterr()
        assert captured.err.startswith("warning: 2 of 6 rows belong to parts of the graph without")
        assert len(captured.err.splitlines()) == 1
        assert json.loads(captured.out)["without_prediction"] == 2
        assert read_file(out).frame["prediction"].isna().tolist() == [False] * 4 + [True] * 2

    def test_progress_on_a_terminal(
        self, flowers: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FORCE_COLOR", "1")  # as if standard error were one
        monkeypatch.setenv("TERM", "xterm")
        assert call("classify", str(flowers), "-t", "kind", "--json") == 0
        captured = capsys.readouterr()
        for step in ("reading", "fitting", "predicting", "writing"):
            assert step in captured.err
        json.loads(captured.out)
        assert call("classify", str(flowers), "-t", "kind", "--quiet") == 0
        assert capsys.readouterr().err == ""


class TestOptions:
    def test_columns(self, flowers: Path, capsys: pytest.CaptureFixture[str]) -> None:
        options = ["--drop", "sl,sw", "--drop", "unit", "--categorical", "code", "--numeric", "pl"]
        assert call("classify", str(flowers), "-t", "kind", "--json", *options) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["columns"] == {
            "code": "category",
            "pl": "number",
            "pw": "number",
            "wide": "category",
        }
        assert document["left_out"] == {"sl": "dropped", "sw": "dropped", "unit": "dropped"}

    @each(
        ("options", "graph"),
        [
            ([], "nearest neighbours, Gaussian graph, hypergraph of the table"),
            (["--graph", "gaussian", "--rank", "4"], "Gaussian graph"),
            (["--graph", "knn"], "nearest neighbours"),
            ([*NETWORK, "--architecture", "reduced", "--rank", "5"], "hypergraph of the table"),
            (
                ["--method", "gcn", "--graph", "gaussian", "--bandwidth", "2", "--filter", "heat"],
                "Gaussian graph",
            ),
        ],
    )
    def test_methods_and_graphs(
        self,
        flowers: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        options: list[str],
        graph: str,
    ) -> None:
        model = tmp_path / "m"
        arguments = ["classify", str(flowers), "-t", "kind", "--drop", "wide", "--json"]
        assert call(*arguments, "--save", str(model), *options) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["graph"] == graph
        assert document["method"] == ("gcn" if "gcn" in options else "gp")
        assert ("loo_accuracy" in document) == ("gcn" not in options)
        classifier = lg.load(model)
        if "--rank" in options:
            assert classifier.rank == int(options[-1])
        if "--architecture" in options:
            assert classifier.architecture == "reduced"
        if "--filter" in options:
            assert (classifier.filter, classifier.bandwidth) == ("heat", 2.0)

    def test_importance_of_many_columns_on_request(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(rng.normal(size=(60, 31))).add_prefix("c")
        frame["kind"] = np.where(frame["c0"] > 0, "up", "down")
        frame.loc[30:, "kind"] = None
        frame.to_csv(tmp_path / "t.csv", index=False)
        arguments = ["classify", str(tmp_path / "t.csv"), "-t", "kind"]
        assert call(*arguments, "-o", str(tmp_path / "o.csv")) == 0
        assert "columns  " not in capsys.readouterr().out
        assert call(*arguments, "--json") == 0
        found = json.loads(capsys.readouterr().out)["column_importance"]
        assert len(found) == 31 and next(iter(found)) == "c0"

    def test_a_model_of_a_table_with_all_labels(self, flowers: Path, tmp_path: Path) -> None:
        model = tmp_path / "m"
        truth = flowers.with_name("truth.csv")
        assert call("classify", str(truth), "-t", "kind", "--save", str(model), "-q") == 0
        assert lg.load(model).classes_.tolist() == ["setosa", "versicolor", "virginica"]


class TestHelp:
    def test_examples(self, capsys: pytest.CaptureFixture[str]) -> None:
        for name in ("classify", "predict", "explain", "suggest"):
            assert call(name, "--help") == 0
            text = capsys.readouterr().out
            assert "Examples:" in text
            assert f"lowrankgcn {name} cars." in text

    def test_order_of_commands(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert call("--help") == 0
        text = capsys.readouterr().out
        places = [text.index(f"│ {name} ") for name in ("classify", "predict", "demo")]
        assert places == sorted(places)

    def test_completion(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = "lowrankgcn classify t.csv --graph hy"
        monkeypatch.setenv("_LOWRANKGCN_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        assert call() == 0
        assert capsys.readouterr().out.split() == ["hypergraph"]
