"""`lowrankgcn classify` as a user runs it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris

import lowrankgcn as lg
from lowrankgcn.cli import output
from lowrankgcn.cli.models import load_model
from lowrankgcn.files import read_file
from tests.cli.commands import call, feed, installed


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


#: One network, where it does not matter which.
QUICK = ["--graph", "hypergraph", "--architecture", "reduced", "--filter", "constant"]


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
        assert done.stderr == ""
        for said in (
            "flowers.csv: 150 rows, 5 columns used (4 numeric, 1 categorical)",
            "kind: 30 rows labelled, 120 to classify",
            "column 'code' is left out",
            "column 'unit' is left out",
            "setosa",
            "all/out.csv",
            "all/report.html",
            "all/f.model",
            "reading",
            "training",
            "writing",
        ):
            assert said in done.stdout

    def test_columns_of_the_table_are_unchanged(self, run: Any, flowers: Path) -> None:
        before, after = read_file(flowers).frame, read_file(run[1] / "out.csv").frame
        added = ["prediction", "probability"]
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
        assert classifier.classes_.tolist() == ["setosa", "versicolor", "virginica"]
        assert load_model(run[1] / "f.model")[1].target == "kind"

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
        assert call("classify", str(flowers), "--target", "kind", *QUICK) == 0
        printed, said = capfd.readouterr()
        (tmp_path / "rows.csv").write_text(printed)
        rows = read_file(tmp_path / "rows.csv").frame
        assert len(rows) == 120
        assert rows["kind"].isna().all()
        assert rows["prediction"].notna().all()
        assert "120 to classify" in said

    def test_standard_input_and_output_of_parquet(
        self,
        flowers: Path,
        monkeypatch: pytest.MonkeyPatch,
        capfdbinary: pytest.CaptureFixture[bytes],
    ) -> None:
        feed(monkeypatch, flowers.with_suffix(".parquet").read_bytes())
        assert call("classify", "-", "-t", "kind", "--out", "-", "--quiet", *QUICK) == 0
        captured = capfdbinary.readouterr()
        assert captured.err == b""
        frame = pq.read_table(io.BytesIO(captured.out)).to_pandas()
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
        assert document["validation"] is None
        assert document["files"] == {}
        assert set(document["seconds"]) == {
            "reading",
            "set-up",
            "selection",
            "training",
            "prediction",
            "writing",
        }

    def test_semicolons_and_decimal_commas(self, flowers: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.csv"
        euro = flowers.with_name("euro.csv")
        assert call("classify", str(euro), "-t", "kind", "-o", str(out), "-q", *QUICK) == 0
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
        assert call("classify", str(path), "-t", "kind", "-o", str(out), *QUICK) == 0
        assert "the new one is 'prediction_2'" in capsys.readouterr().out
        after = read_file(out).frame
        assert after.columns[-2:].tolist() == ["prediction_2", "probability"]
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

    def test_numbers_with_empty_cells(
        self, flowers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        frame = read_file(flowers).frame[["sl", "pl", "pw", "kind"]]
        frame.loc[frame.index % 7 == 1, "pl"] = None
        path, out = tmp_path / "gaps.csv", tmp_path / "out.csv"
        frame.to_csv(path, index=False)
        assert call("classify", str(path), "-t", "kind", "-o", str(out)) == 0
        assert "numbers are binned" in capsys.readouterr().out
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
        assert call("classify", str(path), "-t", "kind", "-o", str(out), "--json") == 0
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
        assert call("classify", str(flowers), "-t", "kind", "--json", *QUICK) == 0
        captured = capsys.readouterr()
        for step in ("reading", "fitting", "predicting", "writing"):
            assert step in captured.err
        json.loads(captured.out)
        assert call("classify", str(flowers), "-t", "kind", "--quiet", *QUICK) == 0
        assert capsys.readouterr().err == ""


class TestOptions:
    def test_columns(self, flowers: Path, capsys: pytest.CaptureFixture[str]) -> None:
        options = ["--drop", "sl,sw", "--drop", "unit", "--categorical", "code", "--numeric", "pl"]
        assert call("classify", str(flowers), "-t", "kind", "--json", *options, *QUICK) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["columns"] == {
            "code": "category",
            "pl": "number",
            "pw": "number",
            "wide": "category",
        }
        assert document["left_out"] == {"sl": "dropped", "sw": "dropped", "unit": "dropped"}

    @pytest.mark.parametrize(
        ("options", "graph", "architecture"),
        [
            (["--graph", "gaussian", "--bandwidth", "2"], "Gaussian", None),
            (["--graph", "knn", "--architecture", "reduced"], "nearest", "reduced GCN"),
            (
                ["--graph", "hypergraph", "--architecture", "low-rank", "--rank", "5"],
                "hypergraph",
                "low-rank GCN",
            ),
            (["--filter", "heat", "--architecture", "low-rank"], "nearest", "low-rank GCN"),
        ],
    )
    def test_models(
        self,
        flowers: Path,
        capsys: pytest.CaptureFixture[str],
        options: list[str],
        graph: str,
        architecture: str | None,
    ) -> None:
        dropped = ["--drop", "wide"]
        assert call("classify", str(flowers), "-t", "kind", "--json", *dropped, *options) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["graph"].startswith(graph)
        found = {row["architecture"] for row in document["selection"]}
        assert architecture is None or found == {architecture}
        if "--rank" in options:
            assert {row["rank"] for row in document["selection"]} == {5}

    def test_validation_is_printed_before_anything_is_written(
        self,
        flowers: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        before: list[str] = []
        monkeypatch.setattr(
            output, "write_file", lambda *_, **__: before.append(capsys.readouterr().out)
        )
        arguments = ["classify", str(flowers), "-t", "kind", "-o", str(tmp_path / "out.csv")]
        assert call(*arguments, "--validate", *QUICK) == 0
        (line,) = before[0].splitlines()
        assert line.startswith("validation")
        assert "of 30 hidden labels predicted correctly; 95 % interval" in line

    def test_validation_in_json(self, flowers: Path, capsys: pytest.CaptureFixture[str]) -> None:
        arguments = ["classify", str(flowers), "-t", "kind", "--json", "--validate", *QUICK]
        assert call(*arguments) == 0
        found = json.loads(capsys.readouterr().out)["validation"]
        assert found["low"] < found["accuracy"] < found["high"] or found["accuracy"] == 1
        assert found["n_rows"] == found["n_labelled"] == 30
        assert set(found["recalls"]) == {"setosa", "versicolor", "virginica"}

    def test_a_model_of_a_table_with_all_labels(self, flowers: Path, tmp_path: Path) -> None:
        model = tmp_path / "m"
        truth = flowers.with_name("truth.csv")
        assert call("classify", str(truth), "-t", "kind", "--save", str(model), "-q", *QUICK) == 0
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

    def test_help_does_not_import_torch(self) -> None:
        code = (
            "import sys, lowrankgcn.cli; print({'torch', 'matplotlib', 'dask'} & set(sys.modules))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
        )
        assert done.stdout == "set()\n"
