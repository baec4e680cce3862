"""The command `lowrankgcn compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lowrankgcn.experiments import methods as registry
from lowrankgcn.experiments.comparison import NAMES
from lowrankgcn.experiments.methods import METHODS
from tests.cli.commands import call

QUICK = ["--splits", "2", "--labels-per-class", "3,5", "--methods", "logistic,svc"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Thirty rows of two classes, one of them without a class."""
    generator = np.random.default_rng(0)
    kind = np.arange(30) % 2
    frame = pd.DataFrame(
        {
            "row": [f"r{i}" for i in range(30)],
            "size": generator.normal(size=30).round(3) + 3 * kind,
            "colour": np.where(generator.random(30) < 0.8, kind, 1 - kind).astype(str),
            "kind": np.where(kind == 1, "big", "small"),
        }
    )
    frame.loc[29, "kind"] = None
    path = tmp_path / "things.csv"
    frame.to_csv(path, index=False)
    return path


def without_times(document: dict[str, Any]) -> dict[str, Any]:
    """The document without what a clock measured."""
    for result in document["results"]:
        for row in result["methods"]:
            del row["seconds"], row["processor_seconds"]
    return document


class TestOutput:
    def test_json_csv_and_markdown(
        self, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        results, page = tmp_path / "results.csv", tmp_path / "page.md"
        files = ["--csv", str(results), "--markdown", str(page)]
        methods = ["--methods", "gcn,logistic", "--splits", "2", "--labels-per-class", "5"]
        assert call("compare", str(table), "--target", "kind", "--json", *methods, *files) == 0
        printed, said = capsys.readouterr()
        assert said == ""
        document = json.loads(printed)
        assert document["rows"] == 30
        assert document["classes"] == {"big": 14, "small": 15}
        first, second = document["notes"]
        assert first.startswith("column 'row' is left out: its values identify the rows")
        assert second == "rows of unknown class, used unlabelled and not tested: 1"
        fits = pd.read_csv(results)
        assert fits.shape == (4, 10)
        ours, peer = document["results"][0]["methods"]
        assert [ours["method"], peer["method"]] == ["gcn", "logistic"]
        wide = fits.pivot(index="split", columns="method", values="accuracy")
        assert ours["accuracy"] == pytest.approx(wide["gcn"].mean())
        assert ours["accuracy"] > 0.7
        assert f"| {100 * peer['accuracy']:.1f}" in page.read_text().replace("*", "")
        assert page.read_text().endswith(f"{document['verdict']}\n")

    def test_texts_and_vectors(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """All methods read columns of free text and of vectors."""
        generator, kind = np.random.default_rng(0), np.arange(40) % 2
        words = np.array([["cold", "rain", "storm", "wind"], ["sun", "warm", "dry", "clear"]])
        frame = pd.DataFrame(
            {
                "report": [
                    " ".join(generator.choice(words[k], 4)) + f" on day {i}"
                    for i, k in enumerate(kind)
                ],
                "sensor": list(generator.normal(size=(40, 3)) + 2 * kind[:, None]),
                "kind": np.where(kind == 1, "fair", "bad"),
            }
        )
        path = tmp_path / "days.parquet"
        frame.to_parquet(path)
        methods = ["--methods", "gp,gcn,logistic,spreading-knn", "--splits", "1", "-l", "6"]
        assert call("compare", str(path), "--target", "kind", "--json", *methods) == 0
        for row in json.loads(capsys.readouterr().out)["results"][0]["methods"]:
            assert row["accuracy"] > 0.8, row

    def test_terminal_agrees_with_json(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "400")  # no text is wrapped
        assert call("compare", "iris", "--json", *QUICK) == 0
        document = json.loads(capsys.readouterr().out)
        assert call("compare", "iris", *QUICK) == 0
        captured = capsys.readouterr()
        assert captured.err == ""  # no bar off a terminal
        assert "\x1b" not in captured.out
        assert captured.out.startswith("iris: 150 rows of 3 classes, 4 columns; 2 random splits")
        for result in document["results"]:
            assert f"{result['labels_per_class']} labels per class" in captured.out
            for row in result["methods"]:
                shown = f"{100 * row['accuracy']:.1f} ± {100 * row['accuracy_half_width']:.1f}"
                assert shown in captured.out
                assert f"{row['log_loss']:.2f} ± " in captured.out
                assert row["difference"] is None
        assert captured.out.endswith(f"\n{document['verdict']}\n")

    def test_texts_are_wrapped_at_words(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        printed = []
        for width in (400, 80):
            monkeypatch.setenv("COLUMNS", str(width))
            assert call("compare", "iris", *QUICK) == 0
            printed.append(capsys.readouterr().out)
            assert max(map(len, printed[-1].splitlines())) <= width
        wide, narrow = (text[text.index("± half of a 95 %") :] for text in printed)
        assert wide.count("\n") == 2 < narrow.count("\n")
        assert narrow.split() == wide.split()

    def test_time_is_announced_after_the_first_split(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("lowrankgcn.cli.compare._LONG", 0)
        assert call("compare", "iris", "--json", *QUICK) == 0
        assert capsys.readouterr().err.startswith("1 more split takes about ")
        assert call("compare", "iris", "--quiet", *QUICK) == 0
        assert capsys.readouterr().err == ""

    def test_same_seed_same_figures(self, capsys: pytest.CaptureFixture[str]) -> None:
        printed = []
        for seed in ("3", "3", "4"):
            assert call("compare", "wine", "--json", "--seed", seed, *QUICK) == 0
            printed.append(without_times(json.loads(capsys.readouterr().out)))
        assert printed[0] == printed[1]
        assert printed[0]["results"] != printed[2]["results"]

    def test_quiet(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        page = tmp_path / "page.md"
        assert call("compare", "iris", "--quiet", "--markdown", str(page), *QUICK) == 0
        captured = capsys.readouterr()
        assert captured.out == captured.err == ""
        assert page.read_text().count("\n| SVC | ") == 2

    def test_help_names_everything(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert call("compare", "--help") == 0
        text = " ".join(capsys.readouterr().out.replace("│", " ").split())
        assert "lowrankgcn compare iris --splits 5" in text
        for name in (*NAMES, *(method.key for method in METHODS), "--seed", "--json", "--csv"):
            assert name in text


MALFORMED = [
    (["cats"], "expected one of 'iris'"),
    (["no.csv", "--target", "kind"], "No such file"),
    (["{table}"], "needs --target"),
    (["{table}", "--target", "kin"], "did you mean 'kind'?"),
    (["{table}", "--target", "row"], "two classes"),
    (["{table}", "--target", "kind", "--drop", "size,colours"], "colours"),
    (["{table}", "--target", "kind", "--labels-per-class", "8"], "at most 7"),
    (["iris", "--target", "kind"], "--target"),
    (["iris", "--splits", "0"], "--splits"),
    (["iris", "--splits", "few"], "--splits"),
    (["iris", "--splits", "9" * 12], "--splits"),
    (["iris", "--csv", "-"], "expected a file"),
    (["iris", "--csv", "new", "--markdown", "./new"], "would overwrite --csv"),
    (["{table}", "-t", "kind", "-l", "3", "--csv", "{table}"], "would overwrite the table"),
    (["iris", "--labels-per-class", "5,ten"], "expected numbers >= 1"),
    (["iris", "--labels-per-class", ""], "expected numbers >= 1"),
    (["iris", "--labels-per-class", "5,0"], "expected numbers >= 1"),
    (["iris", "--labels-per-class", "26"], "at most 25"),
    (["iris", "--methods", "gnc"], "'gnc'"),
    (["iris", "--methods", ""], "--methods"),
    (["iris", "--csv", "{folder}"], "Is a directory"),
    (["iris", "--markdown", "{table}/below.md"], "--markdown"),
    ([], "TABLE_OR_DATASET"),
]


class TestBadInput:
    def test_one_line_and_exit_code_2(
        self, table: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for arguments, message in MALFORMED:
            filled = [part.format(table=table, folder=table.parent) for part in arguments]
            assert call("compare", *filled) == 2, arguments
            printed, said = capsys.readouterr()
            assert printed == "", arguments
            assert len(said.splitlines()) == 1, arguments
            assert said.startswith("lowrankgcn: ") and message in said, arguments
            assert list(table.parent.iterdir()) == [table], arguments

    def test_a_method_that_is_not_installed(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(registry, "find_spec", lambda name: None)
        for method in METHODS:
            if method.packages:
                assert call("compare", "iris", "--methods", method.key) == 2
                assert "is not installed" in capsys.readouterr().err
