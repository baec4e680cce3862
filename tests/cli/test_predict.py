"""`lowrankgcn predict` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import lowrankgcn as lg
from lowrankgcn.files import read_file
from tests.cli.commands import call, refused
from tests.support.stored import stored_models


def cars(n: int, seed: int) -> pd.DataFrame:
    """Rows whose class depends on two columns."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "code": [f"{i:04d}" for i in rng.permutation(9999)[:n]],
            "colour": rng.choice(["red", "green", "blue"], n),
            "doors": rng.integers(2, 6, n),
            "weight": rng.normal(1000, 200, n).round(1),
            "bought": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    frame["kind"] = np.where((frame["weight"] > 1000) & (frame["colour"] != "red"), "007", "1")
    return frame


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    frame = cars(300, 0)
    frame.loc[frame.index % 3 > 0, "kind"] = None
    frame.to_csv(folder / "cars.csv", index=False)
    arguments = ["classify", str(folder / "cars.csv"), "-t", "kind", "-q"]
    assert call(*arguments, "--save", str(folder / "cars.model")) == 0
    return folder / "cars.model"


class TestPredict:
    def test_the_model_has_no_results_of_fitted_rows(self, model: Path) -> None:
        assert not hasattr(lg.load(model), "label_distributions_")

    def test_other_rows(self, model: Path, tmp_path: Path) -> None:
        new = cars(200, 1)
        path, out = tmp_path / "new.csv", tmp_path / "out.csv"
        new.to_csv(path, index=False)
        assert call("predict", str(model), str(path), "--out", str(out), "--quiet") == 0
        frame = read_file(out).frame
        assert (frame["prediction"] == frame["kind"]).mean() > 0.85
        assert frame["code"].tolist() == new["code"].tolist()
        assert (frame["probability"].astype(float) > 0.5).all()

    def test_booleans_are_the_same_in_all_formats(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"size": rng.normal(size=120), "new": rng.random(120) > 0.5})
        frame["kind"] = frame["new"] ^ (frame["size"] > 1.5)
        spelled = frame.replace({"new": {True: "True", False: "False"}}).astype({"new": object})
        spelled.loc[::2, "new"] = spelled.loc[::2, "new"].str.lower()
        tables = {
            "a.csv": frame.to_csv,
            "b.csv": spelled.to_csv,
            "c.parquet": frame.to_parquet,
            "d.xlsx": frame.to_excel,
        }
        for name, write in tables.items():
            write(tmp_path / name, index=False)
        fitted = {}
        for source in ("a.csv", "c.parquet"):
            path, model = str(tmp_path / source), str(tmp_path / "model")
            assert call("classify", path, "-t", "kind", "-q", "--save", model) == 0
            for other in tables:
                out = tmp_path / "out.csv"
                arguments = ["predict", model, str(tmp_path / other), "--out", str(out), "--json"]
                assert call(*arguments) == 0
                document = json.loads(capsys.readouterr().out)
                assert document["unknown_values"] == {}, (source, other)
                assert document["agreement"] == {"right": 120, "rows": 120}
                fitted[source, other] = pd.read_csv(out)["probability"]
        for found in fitted.values():
            np.testing.assert_allclose(found, fitted["a.csv", "a.csv"], atol=1e-3)

    def test_predictions_do_not_depend_on_the_format(self, model: Path, tmp_path: Path) -> None:
        new = cars(50, 2)
        for name, write in {
            "a.csv": lambda path: new.to_csv(path, index=False),
            "b.csv": lambda path: new.iloc[:, ::-1].to_csv(path, index=False),
            "c.tsv": lambda path: new.assign(more=1).to_csv(path, sep="\t", index=False),
            "d.csv": lambda path: new.to_csv(path, sep=";", decimal=",", index=False),
            "e.parquet": lambda path: new.to_parquet(path, index=False),
        }.items():
            write(tmp_path / name)
            out = tmp_path / f"out-{name}"
            arguments = ["predict", str(model), str(tmp_path / name), "-o", str(out), "-q"]
            assert call(*arguments, "--probabilities") == 0
        tables = [read_file(path).frame for path in sorted(tmp_path.glob("out-*"))]
        columns = ["prediction", "probability", "probability_007", "probability_1"]
        for table in tables:
            assert table["prediction"].tolist() == tables[0]["prediction"].tolist()
            texts = table[columns[1:]].astype(str).replace(",", ".", regex=True)
            assert (texts.astype(float) == tables[0][columns[1:]].astype(float)).all(axis=None)

    def test_summary_and_notes(
        self, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        new = cars(20, 3).assign(more="x")
        new.loc[:2, "colour"] = ["pink", "pink", "grey"]
        new.loc[3:4, "kind"] = "Other"
        path = tmp_path / "new.csv"
        new.to_csv(path, index=False)
        assert call("predict", str(model), str(path), "--out", str(tmp_path / "out.csv")) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "columns that the model does not use: 'more'" in text
        assert "column 'colour': 3 cells with values unknown to the model ('grey', 'pink')" in text
        assert "column 'kind': 2 labels of names that are no class of the model ('Other')" in text
        assert "of 20 labelled rows" in text

    def test_one_row(self, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "new.csv"
        cars(20, 3).head(1).to_csv(path, index=False)
        assert call("predict", str(model), str(path), "--out", str(tmp_path / "out.csv")) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "new.csv: 1 row agreement" in text and "of 1 labelled row" in text

    def test_json(self, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        new = cars(20, 3).drop(columns="kind")
        new.loc[:2, "colour"] = "pink"
        path = tmp_path / "new.csv"
        new.to_csv(path, index=False)
        assert call("predict", str(model), str(path), "--json") == 0
        document = json.loads(capsys.readouterr().out)
        assert document["unknown_values"] == {"colour": 3}
        assert document["agreement"] is None
        assert sum(counts["predicted"] for counts in document["classes"].values()) == 20

    def test_missing_cells(self, model: Path, tmp_path: Path) -> None:
        new = cars(60, 6)
        new.loc[::2, ["weight", "doors", "bought"]] = None
        new.loc[::3, "colour"] = None
        path, out = tmp_path / "new.csv", tmp_path / "out.csv"
        new.to_csv(path, index=False)
        assert call("predict", str(model), str(path), "-o", str(out), "-q") == 0
        frame = read_file(out).frame
        assert frame["prediction"].notna().all()
        assert (frame["prediction"] == frame["kind"])[1::2].mean() > 0.75

    def test_columns_on_another_sheet(
        self, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path, frame = tmp_path / "t.xlsx", cars(30, 1)
        with pd.ExcelWriter(path) as book:
            frame.drop(columns="colour").to_excel(book, sheet_name="Old", index=False)
            frame.to_excel(book, sheet_name="All cars", index=False)
        said = refused(capsys, "predict", str(model), str(path))
        assert "has no column 'colour' of the model; --sheet 'All cars' has all of its" in said
        assert call("predict", str(model), str(path), "--sheet", "All cars", "-q") == 0
        assert call("predict", str(model), str(path), "--allow-missing", "-q") == 0

    def test_columns_of_other_names(
        self, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Another case is matched; --allow-missing reads absent columns as missing cells."""
        path, frame = tmp_path / "t.csv", cars(30, 1)
        answers = []
        for table, option in (
            (frame, ()),
            (frame.rename(columns={"colour": "Colour "}), ()),
            (frame.drop(columns="colour"), ("--allow-missing",)),
            (frame.assign(colour=None), ()),
        ):
            table.to_csv(path, index=False)
            assert call("predict", str(model), str(path), "--json", "--probabilities", *option) == 0
            answers.append(json.loads(capsys.readouterr().out))
        notes = [document["notes"] for document in answers]
        assert "column 'Colour ' is used as 'colour'" in notes[1]
        assert "there is no column 'colour': its cells are taken as missing" in notes[2]
        classes = [document["classes"] for document in answers]
        assert classes[0] == classes[1] and classes[2] == classes[3]
        row = ("--row", "1", "--allow-missing")
        frame.drop(columns="colour").to_csv(path, index=False)
        assert call("explain", str(model), str(path), *row) == 0
        assert "no column 'colour'" in " ".join(capsys.readouterr().out.split())

    def test_columns_that_were_left_out_are_not_needed(self, model: Path, tmp_path: Path) -> None:
        path = tmp_path / "new.csv"
        cars(5, 4).drop(columns=["code", "kind"]).to_csv(path, index=False)
        assert call("predict", str(model), str(path), "-o", str(tmp_path / "o.csv"), "-q") == 0

    def test_a_table_that_does_not_fit(
        self, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        changes: list[tuple[Any, str]] = [
            (lambda frame: frame.drop(columns="colour"), "expected the column 'colour'"),
            (
                lambda frame: frame.drop(columns=["colour", "weight"]),
                "expected columns 'colour', 'weight'",
            ),
            (
                lambda frame: frame.assign(weight="heavy"),
                "column 'weight': expected numbers, got 'heavy'",
            ),
            (lambda frame: frame.assign(bought="soon"), "column 'bought': expected dates"),
        ]
        path = tmp_path / "new.csv"
        for change, expected in changes:
            change(cars(5, 5)).to_csv(path, index=False)
            message = refused(capsys, "predict", str(model), str(path))
            assert expected in message and "new.csv" in message


class TestModelsFromPython:
    @pytest.mark.parametrize("make", [lg.SpectralGPClassifier, lg.GCNClassifier])
    def test_saved_in_python_from_a_table(self, make: Any, tmp_path: Path) -> None:
        frame = cars(200, 0).drop(columns="code")
        X, y = frame.drop(columns="kind"), frame["kind"]
        classifier = make(random_state=0).fit(X, y)
        lg.save(classifier, tmp_path / "m")
        new = cars(50, 1)
        new.to_csv(tmp_path / "new.csv", index=False)
        out = tmp_path / "out.csv"
        assert call("predict", str(tmp_path / "m"), str(tmp_path / "new.csv"), "-o", str(out)) == 0
        expected = classifier.predict(new[X.columns])
        assert read_file(out).frame["prediction"].tolist() == expected.tolist()

    def test_saved_in_python_from_numbers(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"a": rng.random(60), "b": rng.random(60)})
        classifier = lg.SpectralGPClassifier(random_state=0)
        classifier.fit(X, (X["a"] > 0.5).astype(int))
        lg.save(classifier, tmp_path / "m")
        X[["b", "a"]].to_parquet(tmp_path / "new.parquet", index=False)
        out = tmp_path / "out.parquet"
        arguments = ["predict", str(tmp_path / "m"), str(tmp_path / "new.parquet"), "-o", str(out)]
        assert call(*arguments) == 0
        written = pq.read_table(out)["prediction"].to_pylist()
        assert written == [str(label) for label in classifier.predict(X)]

    def test_saved_in_python_without_column_names(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        X = np.random.default_rng(0).random((30, 2))
        classifier = lg.SpectralGPClassifier(random_state=0)
        lg.save(classifier.fit(X, (X[:, 0] > 0.5).astype(int)), tmp_path / "m")
        (tmp_path / "new.csv").write_text("a,b\n1,2\n")
        message = refused(capsys, "predict", str(tmp_path / "m"), str(tmp_path / "new.csv"))
        assert "no column names" in message

    def test_a_damaged_model(
        self, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        data = bytearray(model.read_bytes())
        data[-100] ^= 1
        (tmp_path / "m").write_bytes(data)
        table = str(model.with_name("cars.csv"))
        assert "damaged" in refused(capsys, "predict", str(tmp_path / "m"), table)

    def test_a_target_column_of_other_things(
        self, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        frame = cars(5, 3).assign(kind=np.inf)
        path, out = tmp_path / "new.parquet", tmp_path / "out.parquet"
        frame.to_parquet(path, index=False)
        message = refused(capsys, "predict", str(model), str(path), "--out", str(out))
        assert "'kind'" in message
        assert not out.exists()


def test_a_stored_model_predicts(tmp_path: Path) -> None:
    expected = json.loads(stored_models.EXPECTED.read_text())["command"]
    found = stored_models.predict_command(tmp_path)
    np.testing.assert_allclose(found, expected, atol=2e-6)  # printed with six decimals
