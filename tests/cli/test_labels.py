"""Labels as people have them: markers, spellings, leaks, earlier predictions, other files."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

from lowrankgcn.files import read_file
from tests.cli.commands import call, refused
from tests.support.each import each

EVERY = 6  # every sixth row has a label


def flowers(**columns: Any) -> pd.DataFrame:
    """Return iris with some labels in `kind`, and more columns."""
    iris = load_iris()
    frame = pd.DataFrame(iris.data, columns=["sl", "sw", "pl", "pw"]).assign(**columns)
    kinds = iris.target_names[iris.target].astype(object)
    return frame.assign(kind=np.where(np.arange(150) % EVERY == 0, kinds, None))


def classified(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    """Classify a table and return the JSON document."""
    assert call("classify", str(path), "--target", "kind", "--json", *options) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "flowers.csv"
    flowers().to_csv(path, index=False)
    return path


class TestEarlierRun:
    def test_its_columns_are_replaced(
        self, table: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        first, second = table.with_name("1.csv"), table.with_name("2.csv")
        options = ("--probabilities", "--level", "0.9")
        before = classified(table, capsys, "--out", str(first), *options)
        after = classified(first, capsys, "--out", str(second), *options)
        assert second.read_bytes() == first.read_bytes()
        assert after["loo_accuracy"] == before["loo_accuracy"]
        assert list(after["columns"]) == ["sl", "sw", "pl", "pw"]
        (note,) = after["notes"]
        assert note.startswith(
            "columns 'prediction', 'probability', 'loo_class', 'loo_probability', 'c"
        )
        options = ("--splits", "1", "--labels-per-class", "3", "--methods", "logistic")
        assert call("compare", str(first), "-t", "kind", *options) == 0
        assert "earlier run" in capsys.readouterr().out

    def test_named_columns_are_kept(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "own.csv"
        rows = np.arange(150)
        flowers(prediction=rows % 3, probability=rows % 7 / 7).to_csv(path, index=False)
        assert "prediction" not in classified(path, capsys)["columns"]
        found = classified(path, capsys, "--categorical", "prediction", "--numeric", "probability")
        assert {"prediction", "probability"} <= set(found["columns"])

    def test_other_columns_of_these_names(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path, rows = tmp_path / "other.csv", np.arange(150)
        flowers(prediction=rows % 3, probability=rows % 7).to_csv(path, index=False)
        assert {"prediction", "probability"} <= set(classified(path, capsys)["columns"])

    def test_the_table_is_not_overwritten(
        self, table: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = table.read_bytes()
        said = refused(capsys, "classify", str(table), "-t", "kind", "--out", str(table))
        assert "would overwrite the table" in said and "--overwrite" in said
        assert table.read_bytes() == before
        classified(table, capsys, "--out", str(table), "--overwrite")
        assert "prediction" in table.read_text().splitlines()[0]


class TestSpelling:
    @each("marker", ["NA", "?", "-", "-1", "None", "unknown", "nan", "null"])
    def test_marker_without_empty_cells(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], marker: str
    ) -> None:
        path = tmp_path / "marked.csv"
        flowers().fillna({"kind": marker}).to_csv(path, index=False)
        word = f"'{marker}'" if marker == "?" else marker
        for command in ("classify", "suggest", "compare", "studio"):
            said = refused(capsys, command, str(path), "--target", "kind")
            assert f"{marker!r} may be a class or mark unlabelled rows" in said
            assert f"use --unlabelled {word} or --class {word}\n" in said
        document = classified(path, capsys, "--unlabelled", marker)
        assert document["labelled"] == 25 and document["notes"] == []
        assert set(document["classes"]) == set(load_iris().target_names)
        model = str(tmp_path / "kept.model")
        for option in (("--class", marker), ("--unlabelled", "")):
            kept = classified(path, capsys, *option, "--save", model)
            assert marker in kept["classes"] and kept["labelled"] == 150 and kept["notes"] == []

    def test_a_value_that_fills_most_of_the_target(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path, frame = tmp_path / "t.csv", flowers()
        frame.fillna({"kind": "unbekannt"}).to_csv(path, index=False)
        asked = "83 % of the rows are 'unbekannt': did you mean --unlabelled unbekannt?"
        said = refused(capsys, "classify", str(path), "-t", "kind")
        assert asked in said and "a label in every row" in said
        assert call("audit", str(path), "-t", "kind", "--json") == 0
        assert asked in json.loads(capsys.readouterr().out)["notes"]
        assert classified(path, capsys, "--unlabelled", "unbekannt")["notes"] == []

    def test_classes_of_several_names(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Spellings are noticed; the option that the note names merges them."""
        path, frame, model = tmp_path / "t.csv", flowers(), tmp_path / "model"
        known = np.flatnonzero(frame["kind"].notna())
        virginica = frame["kind"][known] == "virginica"
        frame.loc[known, "kind"] = np.where(virginica, "Yes", "no")
        frame.loc[known[virginica][:2], "kind"] = ["Y", "yes "]
        frame.loc[known[~virginica][:1], "kind"] = "NO"
        frame.to_csv(path, index=False)
        notes = classified(path, capsys)["notes"]
        merge = "Yes=Y,yes "
        assert notes[1].startswith("classes 'Y', 'Yes', 'yes ' may be one class; if so, correct")
        assert notes[1].endswith(f"(--merge-classes '{merge}' merges them)")
        assert notes[0].startswith("classes 'NO', 'no' differ only by blanks, case or zeros")
        assert notes[0].endswith("(--ignore-case merges them)")
        options = ["--merge-classes", merge, "--ignore-case"]
        document = classified(path, capsys, *options, "--save", str(model))
        counts = {name: found["given"] for name, found in document["classes"].items()}
        assert counts == {"Yes": virginica.sum(), "no": (~virginica).sum()}
        assert "'NO' is 'no'" in document["notes"][0] and len(document["notes"]) == 1
        said = refused(capsys, "classify", str(path), "-t", "kind", "--merge-classes", "a=b")
        assert "'b', which is no class" in said and len(said.splitlines()) == 1
        refused(capsys, "classify", str(path), "-t", "kind", "--merge-classes", "Yes")

    def test_a_blank_after_a_class(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The notes' options, one for each class, merge "Yes " although "Yes" is a class too."""
        path, frame = tmp_path / "t.csv", flowers()
        known = np.flatnonzero(frame["kind"].notna())
        yes = frame["kind"][known] == "virginica"
        frame.loc[known, "kind"] = np.where(yes, "Yes", "No")
        frame.loc[known[yes][:2], "kind"] = ["Y", "Yes "]
        frame.loc[known[~yes][:1], "kind"] = "N"
        frame.to_csv(path, index=False)
        options = [
            note.partition("(--merge-classes ")[2] for note in classified(path, capsys)["notes"]
        ]
        merges = [shlex.split(option.removesuffix(" merges them)"))[0] for option in options]
        assert merges == ["No=N", "Yes=Y,Yes "]
        repeated = [text for merge in merges for text in ("--merge-classes", merge)]
        document = classified(path, capsys, *repeated)
        counts = {name: found["given"] for name, found in document["classes"].items()}
        assert counts == {"No": (~yes).sum(), "Yes": yes.sum()}
        assert len(document["notes"]) == 1

    def test_a_repeated_marker(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path, frame = tmp_path / "t.csv", flowers()
        empty = np.flatnonzero(frame["kind"].isna())
        frame.loc[empty, "kind"] = np.where(empty % 2, "?", "todo")
        frame.to_csv(path, index=False)
        document = classified(path, capsys, "--unlabelled", "?", "--unlabelled", "todo")
        assert not {"?", "todo"} & document["classes"].keys() and document["notes"] == []
        document = classified(path, capsys, "--unlabelled", "?,to do")
        assert "todo" in document["classes"]
        assert "--unlabelled: no cell of the target is 'to do'" in document["notes"]

    def test_a_class_named_none(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path, report = tmp_path / "parts.csv", tmp_path / "report.html"
        rng = np.random.default_rng(0)
        kinds = np.repeat(np.array(["none", "crack", "dent"], object), [130, 30, 40])
        depth = np.repeat([0.0, 5.0, 10.0], [130, 30, 40]) + rng.normal(size=200)
        hidden = rng.permutation(200)[:20]
        frame = pd.DataFrame({"depth": depth, "length": rng.normal(size=200), "kind": kinds})
        frame.loc[hidden, "kind"] = None
        frame.to_csv(path, index=False)
        out = tmp_path / "out.csv"
        document = classified(path, capsys, "--out", str(out), "--report", str(report))
        assert document["labelled"] == 180 and "none" in document["classes"]
        predicted = pd.read_csv(out, keep_default_na=False)["prediction"].to_numpy()
        assert (predicted == kinds)[hidden].mean() > 0.9
        (note,) = document["notes"]
        assert note.startswith("'none' is a class, because empty cells") and note in (
            report.read_text().replace("&#39;", "'")
        )
        assert classified(path, capsys, "--class", "none")["notes"] == []

    def test_given_markers(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "marked.csv"
        frame = flowers()
        frame.loc[[1, 2, 3], "kind"] = ["?", "to do", "?"]
        frame.to_csv(path, index=False)
        offered = classified(path, capsys)
        assert "?" in offered["classes"]
        assert any("use --unlabelled '?'" in note for note in offered["notes"])
        document = classified(path, capsys, "--unlabelled", "?,to do")
        assert document["labelled"] == 25 and document["notes"] == []

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_a_marker_that_is_one_of_two_values(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str
    ) -> None:
        path = tmp_path / f"signs.{ending}"
        frame = flowers().assign(kind=np.where(np.arange(150) < 30, 1, -1))
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
        assert "--class -1" in refused(capsys, "classify", str(path), "-t", "kind")
        model = str(tmp_path / "model")
        found = classified(path, capsys, "--class", "-1", "--save", model)
        assert set(found["classes"]) == {"-1", "1"}

    def test_several_markers(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "several.csv"
        frame = flowers().fillna({"kind": "none"})
        frame.loc[[1, 2], "kind"] = "?"
        frame.to_csv(path, index=False)
        arguments = ("classify", str(path), "-t", "kind")
        said = refused(capsys, *arguments)
        assert "'none', '?' may be" in said and "--unlabelled 'none,?' or --class none " in said
        assert "--class '?'" in refused(capsys, *arguments, "--class", "none")
        found = classified(path, capsys, "--unlabelled", "?")
        assert "none" in found["classes"] and found["labelled"] == 148
        wrong = refused(capsys, *arguments, "--class", "None")
        assert "--class: expected a text of the target, got 'None'" in wrong
        both = refused(capsys, *arguments, "--class", "?", "--unlabelled", "?")
        assert "--class: '?' is also named in --unlabelled" in both

    def test_classes_spelled_alike(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "alike.csv"
        frame = flowers()
        frame.loc[[0, 6, 60], "kind"] = ["setosa ", "Setosa", "versicolor"]
        frame.to_csv(path, index=False)
        (note,) = classified(path, capsys)["notes"]
        assert note.startswith("classes 'Setosa', 'setosa', 'setosa ' differ only by blanks,")

    def test_leak(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "leak.csv"
        iris = load_iris()
        flowers(code=iris.target * 10, side=np.arange(150) % 3).to_csv(path, index=False)
        document = classified(path, capsys)
        (note,) = document["notes"]
        assert note.startswith("column 'code' may be another name of the class")
        assert classified(path, capsys, "--drop", "code")["notes"] == []


class TestMoreLabels:
    def test_suggest_label_classify(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        wine = load_wine(as_frame=True)
        path, labels = tmp_path / "wine.csv", tmp_path / "to-label.csv"
        wine.data.to_csv(path, index=False)  # no column of classes
        names = np.array(["Barolo", "Grignolino", "Barbera"])[wine.target]
        assert call("suggest", str(path), "-t", "grape", "-k", "12", "-o", str(labels), "-q") == 0
        frame = pd.read_csv(labels)
        assert frame.columns[:2].tolist() == ["row", "grape"] and frame["grape"].isna().all()
        frame["grape"] = names[frame["row"] - 1]
        frame.iloc[:-1].to_csv(labels, index=False)
        out, more = tmp_path / "out.csv", tmp_path / "more.csv"
        first = ("--labels", str(labels))
        assert call("suggest", str(path), "-t", "grape", *first, "-k", "5", "-o", str(more)) == 0
        frame = pd.read_csv(more)
        assert frame.columns[2:4].tolist() == ["prediction", "probability"]
        frame.assign(grape=names[frame["row"] - 1]).to_csv(more, index=False)
        capsys.readouterr()
        command = ("classify", str(path), "-t", "grape", *first, "--labels", str(more), "--json")
        assert call(*command, "-o", str(out)) == 0
        assert json.loads(capsys.readouterr().out)["labelled"] == 16
        found = pd.read_csv(out)
        assert found["grape"].notna().sum() == 16
        assert (found["grape"].fillna("") == np.where(found["grape"].isna(), "", names)).all()
        assert (found["prediction"] == names).mean() > 0.8

    def test_key(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path, labels, out = (tmp_path / name for name in ("t.csv", "l.csv", "o.csv"))
        rows = np.arange(150)
        flowers(code=[f"f{row:03}" for row in rows]).to_csv(path, index=False)
        labels.write_text("code,kind\nf001,setosa\nf149,virginica\nf060,\n")
        options = ("--labels", str(labels), "--key", "code", "--out", str(out))
        assert classified(path, capsys, *options)["labelled"] == 27
        assert read_file(out).frame["kind"].iloc[[1, 149]].tolist() == ["setosa", "virginica"]

    def test_numbers_with_a_decimal_zero(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path, labels = tmp_path / "t.csv", [tmp_path / "1.csv", tmp_path / "2.csv"]
        flowers().drop(columns="kind").to_csv(path, index=False)
        target = load_iris().target
        labels[0].write_text("row,kind\n1,0.0\n2,\n60,1.0\n149,2.0\n8,0.0\n")
        labels[1].write_text("row,kind\n9,0\n61,1\n148,2\n")
        options = ("--labels", str(labels[0]), "--labels", str(labels[1]))
        document = classified(path, capsys, *options, "--out", str(tmp_path / "o.csv"))
        assert list(document["classes"]) == ["0", "1", "2"]
        assert (pd.read_csv(tmp_path / "o.csv")["prediction"] == target).mean() > 0.8

    def test_replaced_and_repeated(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        labels = table.with_name("l.csv")
        labels.write_text("row,kind\n1,virginica\n2,setosa\n2,versicolor\n")
        document = classified(table, capsys, "--labels", str(labels))
        assert document["labelled"] == 26 and document["classes"]["virginica"]["given"] == 9
        assert "several labels of one row; the last one is used" in document["notes"][0]
        assert "replaces 1 label of the table" in document["notes"][1]

    def test_journal(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        journal = table.with_name("flowers.csv.labels.jsonl")
        lines = [
            (2, "virginica", False),
            (1, None, True),
            (2, "setosa", False),
            (3, "setosa", False),
        ]
        lines += [(3, None, True)]
        records = [dict(row=row, kind=kind, removed=gone) for row, kind, gone in lines]
        journal.write_text("".join(json.dumps(record) + "\n" for record in records))
        out = table.with_name("o.csv")
        document = classified(table, capsys, "--labels", str(journal), "--out", str(out))
        assert document["labelled"] == 25 and document["classes"]["virginica"]["given"] == 8
        kinds = read_file(out).frame["kind"]
        assert kinds.isna()[[0, 2]].all() and kinds[1] == "setosa"

    def test_unknown_rows(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path, labels = tmp_path / "t.csv", tmp_path / "labels.csv"
        flowers(name=[f"n{k}" for k in range(150)]).to_csv(path, index=False)
        for key, content in (
            (["--key", "name"], "name,kind\nn1,new\nzz,new\nn2,new\n"),
            ([], "row,kind\n2,new\n151,new\n3,new\n"),
        ):
            labels.write_text(content)
            options = ["--labels", str(labels), *key]
            said = refused(capsys, "classify", str(path), "-t", "kind", *options)
            assert "zz" in said and "--skip-unknown" in said if key else "from 1 to 150" in said
            document = classified(path, capsys, *options, "--skip-unknown")
            assert document["classes"]["new"]["given"] == 2
            note = "1 label of a row not in the table is left out"
            assert any(note in text for text in document["notes"])

    @pytest.mark.parametrize("ending", ["parquet", "csv"])
    def test_types_of_labels(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str
    ) -> None:
        frame = flowers()
        codes = pd.Categorical(frame["kind"]).codes
        frame["kind"] = pd.array([None if code < 0 else int(code) for code in codes], "Int64")
        path, out, labels = (tmp_path / f"{name}.{ending}" for name in ("t", "o", "l"))
        labels = labels.with_suffix(".csv")
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
        labels.write_text("row,kind\n2,0\n")
        classified(path, capsys, "--labels", str(labels), "--out", str(out))
        found = read_file(out).frame
        assert str(found["kind"].iloc[1]) == "0"
        if ending == "parquet":
            assert found["kind"].dtype == found["prediction"].dtype == "int64[pyarrow]"
            labels.write_text("row,kind\n2,new\n3,new\n")
            classified(path, capsys, "--labels", str(labels), "--out", str(out))
            kinds = read_file(out).frame["kind"]
            assert kinds.iloc[:3].tolist() == ["0", "new", "new"] and kinds.isna()[3]

    @each(
        ("content", "options", "said"),
        [
            ("kind\nsetosa\n", (), "expected the columns 'kind' and 'row'"),
            ("row\n1\n", (), "expected the columns 'kind' and 'row'"),
            ("row,kind\n0,setosa\n", (), "expected row numbers from 1 to 150, got 0"),
            ("row,kind\n151,setosa\n", (), "expected row numbers from 1 to 150, got 151"),
            ("row,kind\n1.5,setosa\n", (), "expected row numbers from 1 to 150, got 1.5"),
            ("row,kind\n,setosa\n", (), "row numbers from 1 to 150, got an empty cell"),
            ("row,kind\nfirst,setosa\n", (), "expected numbers, got 'first'"),
            ("row,kind\n1,\n2, \n", (), "got empty cells only"),
            ("row,kind,sl\n1,setosa,9.9\n", (), "not those of the table: column 'sl' has '9.9'"),
            ("id,kind\n1,setosa\n", ("--key", "id"), "expected a column of the table, got 'id'"),
            ("pw,kind\n0.2,setosa\n", ("--key", "pw"), "column 'pw' of the table, got '0.2' twice"),
        ],
    )
    def test_errors(
        self,
        table: Path,
        capsys: pytest.CaptureFixture[str],
        content: str,
        options: tuple[str, ...],
        said: str,
    ) -> None:
        labels = table.with_name("l.csv")
        labels.write_text(content)
        out = table.with_name("o.csv")
        command = ("classify", str(table), "-t", "kind", "-o", str(out), "--labels", str(labels))
        assert said in refused(capsys, *command, *options)
        assert not out.exists()

    def test_spreadsheets_write_numbers_differently(
        self, table: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        labels = table.with_name("l.csv")
        labels.write_text('row;kind;sl;sw\n2;setosa;4,90;"3"\n')
        assert classified(table, capsys, "--labels", str(labels))["labelled"] == 26

    def test_pattern_is_not_overwritten(
        self, table: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pattern, before = str(table.with_name("f*.csv")), table.read_bytes()
        for option in ("--out", "--report", "--save"):
            said = refused(capsys, "classify", pattern, "-t", "kind", option, str(table))
            assert "would overwrite the table" in said
        said = refused(capsys, "suggest", pattern, "-t", "kind", "--out", str(table))
        assert "would overwrite the table" in said and table.read_bytes() == before

    def test_options_that_make_no_sense(
        self, table: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for options, expected in {
            ("-t", "kind", "--key", "sl"): "--key: only with --labels",
            ("-t", "kind", "--unlabelled", "nope"): "expected texts of the target, got 'nope'",
            ("-t", "price"): "needs --labels, and lowrankgcn suggest",
        }.items():
            assert expected in refused(capsys, "classify", str(table), *options)
        assert "got ''" in refused(capsys, "suggest", str(table), "-t", "")

    def test_misspelled_target(self, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
        said = refused(capsys, "suggest", str(table), "--target", "kindd")
        assert "did you mean 'kind'?" in said


class TestSets:
    def test_sets_in_classify_and_predict(
        self, table: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out, model, again = (table.with_name(name) for name in ("o.csv", "f.model", "p.csv"))
        options = ("--level", "0.9", "--save", str(model))
        document = classified(table, capsys, "--out", str(out), *options)
        frame = pd.read_csv(out)
        assert list(frame.columns[-2:]) == ["classes_90", "unsure"]
        sets = frame["classes_90"].str.split("|")
        truth = load_iris().target_names[load_iris().target]
        unlabelled = frame["kind"].isna()
        unsure = frame["unsure"]
        covered = np.array([name in own for name, own in zip(truth, sets, strict=True)])
        assert covered[~unlabelled].all() and covered[unlabelled].mean() > 0.8
        assert document["unsure"] == unsure.sum() < 15
        assert call("predict", str(model), str(table), "-o", str(again), "--level", "0.9") == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "90 % sets" in shown and "about 5 % are expected" in shown
        added = ["prediction", "probability", "classes_90", "unsure"]
        assert list(pd.read_csv(again))[-4:] == added

    def test_unknown_class_is_unsure(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Points far away from all labels fit no class."""
        generator = np.random.default_rng(0)
        centres = np.repeat([[0.0, 0.0], [4.0, 0.0], [2.0, 40.0]], 60, axis=0)
        points = centres + generator.normal(size=(180, 2))
        kind = np.repeat(np.array(["a", "b", None], dtype=object), 60)
        kind[(np.arange(180) % 4 > 0)] = None
        frame = pd.DataFrame(points, columns=["x", "y"]).assign(kind=kind)
        path, out = tmp_path / "p.csv", tmp_path / "o.csv"
        frame.to_csv(path, index=False)
        classified(path, capsys, "--level", "0.9", "--out", str(out))
        frame = pd.read_csv(out)
        assert set(frame["classes_90"]) <= {"a", "b", "a|b"}  # also of unsure rows
        unsure = frame["unsure"].to_numpy()
        assert unsure[120:].mean() > 0.9 and unsure[:120].mean() < 0.1

    def test_bars_and_unsure_in_names(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        frame = flowers()
        names = {"setosa": "a", "versicolor": "a|b", "virginica": "unsure"}
        path, out = tmp_path / "t.csv", tmp_path / "o.csv"
        frame.assign(kind=frame["kind"].map(names)).to_csv(path, index=False)
        classified(path, capsys, "--level", "0.9", "--out", str(out))
        found = set(pd.read_csv(out)["classes_90"])
        assert r"a\|b" in found and "unsure" in found
        assert found <= {"a", r"a\|b", "unsure", r"a\|b|unsure"}

    @each("level", ["0", "1", "90", "-0.5", "nan", "x"])
    def test_invalid_level(
        self, table: Path, capsys: pytest.CaptureFixture[str], level: str
    ) -> None:
        assert "--level" in refused(capsys, "classify", str(table), "-t", "kind", "--level", level)


def test_balanced_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rare class that overlaps a frequent one is found more often."""
    generator = np.random.default_rng(1)
    rare = np.arange(1000) % 20 == 0
    points = generator.normal(size=(1000, 2)) + 1.5 * rare[:, None]
    kind = np.where(rare, "rare", "common").astype(object)
    labelled = np.arange(1000) < 200
    frame = pd.DataFrame(points, columns=["x", "y"])
    frame.assign(kind=np.where(labelled, kind, None)).to_csv(tmp_path / "t.csv", index=False)
    recall = {}
    for name, options in {"plain": (), "balanced": ("--class-shares", "equal")}.items():
        out = tmp_path / f"{name}.csv"
        classified(tmp_path / "t.csv", capsys, "--out", str(out), *options)
        recall[name] = (pd.read_csv(out)["prediction"] == "rare")[rare & ~labelled].mean()
    assert recall["balanced"] > max(0.6, recall["plain"] + 0.2)
    text = refused(capsys, "classify", str(tmp_path / "t.csv"), "-t", "kind", "--class-weight", "x")
    assert "--class-weight" in text and "use --class-shares equal" in text


def test_eighty_columns_without_cut_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = flowers().rename(columns={"pl": "SCALED VARIANCE OF THE MAJOR AXIS", "sw": "width"})
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    for command in ("classify", "suggest"):
        options = ("-o", str(tmp_path / "o.csv")) if command == "classify" else ()
        assert call(command, str(path), "-t", "kind", *options) == 0
        lines = [
            line for line in capsys.readouterr().out.splitlines() if str(path.parent) not in line
        ]
        assert max(map(len, lines)) <= 80
        words = " ".join(" ".join(lines).split())
        assert "versicolor" in words
        assert command == "suggest" or "SCALED VARIANCE OF THE MAJOR AXIS" in words
    for command in ("classify", "predict", "explain", "suggest", "compare", "reproduce", "demo"):
        assert call(command, "--help") == 0
        text = capsys.readouterr().out
        assert "<bool>" not in text and max(map(len, text.splitlines())) <= 80


def test_one_label_per_class_gives_no_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = flowers()
    frame["kind"] = frame["kind"].where(~frame["kind"].duplicated())
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    document = classified(path, capsys, "--out", str(tmp_path / "o.csv"))
    for name in ("accuracy", "interval", "balanced_accuracy", "f1", "log_loss"):
        assert document[f"loo_{name}"] is None
    assert document["overconfidence"] is None and document["reliability"] == []
    assert document["loo_meaning"] == "not known yet: label a second row of each class"
    for counts in document["classes"].values():
        assert counts["given"] == 1
        for name in ("recall", "recall_interval", "precision", "f1"):
            assert counts[name] is None
    report = tmp_path / "r.html"
    assert call("classify", str(path), "-t", "kind", "--report", str(report)) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "accuracy not known yet: label a second row of each class" in shown
    assert shown.count("1 label: too few –") == 3
    assert "calibration" not in shown and "balanced" not in shown
    assert "label a second row of each class" in report.read_text(encoding="utf-8")


def test_a_wrong_choice_is_one_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "classify", "t.csv", "-t", "kind", "--class-shares", "foo")
    assert said.endswith("'--class-shares': expected one of auto, labels, equal, got 'foo'\n")
