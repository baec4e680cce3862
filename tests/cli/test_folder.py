"""``lowrankgcn classify`` on a folder of Parquet files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lowrankgcn as lg
from tests.cli.commands import call, refused

pytest.importorskip("dask", reason="Dask is not installed")
pytest.importorskip("distributed", reason="dask.distributed is not installed")

from tests.distributed.tables import some_labels, texts  # isort: skip

# Dask's reader issues this warning with newer pandas.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")

NAMES = np.array(["ant", "bee", "cat"], object)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files, one of them without rows; the column "kind" is known of thirty rows."""
    table, hidden = texts(200, 0)
    y = some_labels(hidden, 30, 0)
    table["kind"] = np.where(y >= 0, NAMES[np.maximum(y, 0)], None)
    source = tmp_path / "source"
    source.mkdir()
    for number, (start, stop) in enumerate([(0, 90), (90, 90), (90, 200)]):
        table.iloc[start:stop].to_parquet(source / f"{number}.parquet", index=False)
    return source


def test_a_new_process_uses_the_gaussian_process_without_torch(
    folder: Path, tmp_path: Path
) -> None:
    out, model = tmp_path / "out", tmp_path / "model"
    arguments = ["classify", folder, "--target", "kind", "--out", out, "--save", model, "--quiet"]
    code = (
        "import sys; from lowrankgcn.cli.app import app\n"
        f"try: app({list(map(str, arguments))!r}, prog_name='lowrankgcn')\n"
        "except SystemExit as e: print(e.code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "0 False\n", done.stderr
    whole = pd.concat([pd.read_parquet(file) for file in sorted(out.iterdir())])
    table = pd.concat([pd.read_parquet(file) for file in sorted(folder.iterdir())])
    given = table["kind"].notna()
    assert (whole["prediction"] == table["kind"])[given].all()
    assert (whole["prediction"].to_numpy() == NAMES[texts(200, 0)[1]]).mean() > 0.7
    assert isinstance(lg.load(model), lg.SpectralGPClassifier)


def test_folders_are_classified_file_by_file(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, model = tmp_path / "out", tmp_path / "model"
    options = ["--method", "gcn", "--architecture", "reduced", "--rank", "9", "--json"]
    arguments = [folder, "--target", "kind", "--out", out, "--save", model, *options]
    assert call("classify", *map(str, arguments)) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == 200 and document["graph"].startswith("Hypergraph(200 nodes")
    written = [pd.read_parquet(file) for file in sorted(out.iterdir())]
    assert [len(part) for part in written] == [90, 0, 110]
    whole = pd.concat(written, ignore_index=True)
    table = pd.concat([pd.read_parquet(file) for file in sorted(folder.iterdir())])
    features = table.drop(columns="kind").astype("string[pyarrow]")
    classifier = lg.GCNClassifier(architecture="reduced", rank=9, random_state=0)
    classifier.fit(features, table["kind"])
    expected = np.where(table["kind"].isna(), classifier.transduction_, table["kind"])
    assert whole["prediction"].tolist() == expected.tolist()
    assert whole["probability"].between(1 / 3, 1).mean() > 0.9
    assert lg.load(model).predict(features).tolist() == classifier.predict(features).tolist()


def test_bad_input_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder.parent)
    (folder.parent / "there").mkdir()
    calls = [
        (["--target", "nothing", "--out", "new"], "target: expected a column of the table"),
        (["--target", "kind"], "name a new folder for the rows"),
        (["--target", "kind", "--out", "there"], "there exists already"),
        (["--target", "kind", "--out", "new", "--report", "r"], "not available for folders"),
        (["--target", "kind", "--out", "new", "--safe-csv"], "--safe-csv: for CSV only"),
        (["--target", "kind", "--out", "-"], "name a new folder"),
        (["--target", "kind", "--out", "source/new"], "is inside "),
        (["--target", "kind", "--out", "none/new"], "is not a folder"),
        (["--target", "kind", "--save", "source/0.parquet"], "which is read"),
        (["--target", "kind", "--out", "new", "--save", "new"], "would overwrite --out"),
        (
            ["--target", "kind", "--out", "new", "--drop", "c77"],
            "drop: expected a column",
        ),
        (["--target", "c0", "--out", "new", "--filter", "heat"], "only with --method gcn"),
    ]
    for arguments, message in calls:
        assert message in refused(capsys, "classify", str(folder), *arguments), arguments
        assert sorted(path.name for path in folder.parent.iterdir()) == ["source", "there"]


def test_cluster_options_require_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,x\n2,\n")
    table, new = str(tmp_path / "table.csv"), str(tmp_path / "new")
    assert call("classify", table, "--target", "b", "--workers", "2") == 2
    assert "only available for folders of Parquet files" in capsys.readouterr().err
    assert call("classify", str(tmp_path), "--target", "b", "--out", new) == 2
    assert "is a folder without Parquet files" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_folders_of_numbers_are_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 300)
    table = pd.DataFrame({"x": 4 * group + rng.normal(size=300), "y": rng.normal(size=300)})
    table["kind"] = np.where(rng.random(300) < 0.1, NAMES[group], None)
    source, out = tmp_path / "numbers", tmp_path / "out"
    source.mkdir()
    for number, (start, stop) in enumerate([(0, 140), (140, 300)]):
        table.iloc[start:stop].to_parquet(source / f"{number}.parquet", index=False)
    options = [
        "--method",
        "gcn",
        "--architecture",
        "reduced",
        "--rank",
        "5",
        "--bandwidth",
        "3",
        "--json",
    ]
    arguments = [source, "--target", "kind", "--out", out, *options]
    assert call("classify", *map(str, arguments)) == 0
    assert json.loads(capsys.readouterr().out)["graph"].startswith("GaussianGraph(300 ")
    whole = pd.concat([pd.read_parquet(file) for file in sorted(out.iterdir())])
    assert (whole["prediction"].to_numpy() == NAMES[group]).mean() > 0.95


def test_labels_of_integers_and_blank_texts_are_those_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, hidden = texts(200, 0)
    given = hidden.copy()
    given[:3] = (hidden[:3] + 1) % 3  # labels that no model would give
    some = [int(h) if i % 5 == 0 or i < 40 else None for i, h in enumerate(given)]
    kind, marked = pa.array(some), pa.array([-1 if h is None else h for h in some])
    name = pa.array([("ant", "bee", "cat")[h] if i % 4 == 0 else " " for i, h in enumerate(hidden)])
    for target, column in (("kind", kind), ("marked", marked), ("name", name)):
        source, out = tmp_path / target, tmp_path / f"{target}-out"
        source.mkdir()
        whole = pa.Table.from_pandas(table, preserve_index=False).append_column(target, column)
        pq.write_table(whole.slice(0, 40).replace_schema_metadata(None), source / "0.parquet")
        pq.write_table(whole.slice(40).replace_schema_metadata(None), source / "1.parquet")
        options = ["--method", "gcn", "--architecture", "reduced", "--rank", "9", "--quiet"]
        command = ["classify", str(source), "--target", target, "--out", str(out), *options]
        if target == "marked":
            assert "use --unlabelled -1 or --class -1" in refused(capsys, *command)
            command += ["--unlabelled", "-1"]
        assert call(*command) == 0
        found = pa.concat_tables([pq.read_table(file) for file in sorted(out.iterdir())])
        assert found.schema.field("prediction").type == (
            pa.string() if target == "name" else pa.int64()
        )
        predicted = found["prediction"].to_pylist()
        known = [
            (a, b)
            for a, b in zip(column.to_pylist(), predicted, strict=True)
            if a not in (None, -1, " ")
        ]
        assert len(known) > 40 and all(a == b for a, b in known)
        assert set(predicted) <= set(column.to_pylist()) - {None, -1, " "}


def test_files_that_are_not_one_table_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes: list[tuple[Any, str]] = [
        (lambda t: t.assign(more=1), "differs in 'more'"),
        (lambda t: t.drop(columns="c0"), "differs in 'c0'"),
        (lambda t: t.assign(c0=np.arange(len(t)) / 7), "Field c0 has incompatible types"),
        (lambda t: t.set_index("c0"), "'c0' is a pandas index"),
        (None, "1.parquet: cannot be read"),
    ]
    file, new = folder / "1.parquet", str(folder.parent / "new")
    for change, message in changes:
        if change is None:
            file.write_bytes(b"PAR1 and no more")
        else:
            change(pd.read_parquet(folder / "0.parquet")).to_parquet(file)
        error = refused(capsys, "classify", str(folder), "--target", "kind", "--out", new)
        assert message in error and "1.parquet" in error
        assert not Path(new).exists()


def test_warnings_about_columns_are_in_the_words_of_commands(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, path in enumerate(sorted(folder.iterdir())):
        table = pd.read_parquet(path)
        codes = [f"{number}{k * 7919 % 997:03d}x" for k in range(len(table))]
        table.assign(code=pd.array(codes, "string")).to_parquet(path, index=False)
    options = ["--target", "kind", "--save", str(tmp_path / "model"), "--json"]
    assert call("classify", str(folder), *options) == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert "column 'code' is left out" in warning and "pandas" not in warning
