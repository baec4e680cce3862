"""`lowrankgcn demo` as a user runs it."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowrankgcn as lg
from lowrankgcn.cli import studies
from lowrankgcn.report import pages
from lowrankgcn.report.study import Study
from tests.cli.commands import MODULE, call, refused

N_PER_ORB = 410  # more than 2048 points in all
N = 5 * N_PER_ORB


def without_times(value: Any) -> Any:
    """The document without what a clock measured."""
    if isinstance(value, dict):
        return {key: without_times(part) for key, part in value.items() if key != "seconds"}
    return [without_times(part) for part in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def tour() -> tuple[Study, Study]:
    """The studies, with enough points for fast sums, an iterative solver and estimated errors."""
    return studies.study_cars(0), studies.study_spiral(0, n_per_orb=N_PER_ORB)


@pytest.fixture
def without_figures(tour: tuple[Study, Study], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same tour without computing and drawing it again."""
    monkeypatch.setattr(studies, "study_cars", lambda seed: tour[0])
    monkeypatch.setattr(studies, "study_spiral", lambda seed: tour[1])
    monkeypatch.setattr(pages, "render_studies", lambda *_, **__: "a page")


@pytest.fixture(scope="module")
def full_run(
    tour: tuple[Study, Study], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Path]:
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setattr(studies, "study_cars", lambda seed: tour[0])
        patch.setattr(studies, "study_spiral", lambda seed: tour[1])
        assert call("demo", "--out", str(out), "--json") == 0
    return json.loads(printed.getvalue()), out


class TestFullRun:
    def test_names_version_seed_and_report(self, full_run) -> None:
        document, out = full_run
        assert document["version"] == lg.__version__
        assert document["seed"] == 0
        assert Path(document["report"]) == out / "report.html"
        assert [path.name for path in out.iterdir()] == ["report.html"]
        assert (out / "report.html").stat().st_size > 500_000

    def test_cars(self, full_run) -> None:
        cars = full_run[0]["studies"]["cars"]
        assert cars["graph"]["rows"] == 1728
        assert cars["graph"]["hyperedges"] == 21
        assert cars["graph"]["components"] == 1
        assert cars["graph"]["numerical rank"] == 16
        spectrum = [(entry["eigenvalue"], entry["multiplicity"]) for entry in cars["spectrum"]]
        assert [m for _, m in spectrum] == [1, 15, 1712]
        assert np.allclose([value for value, _ in spectrum], [0, 5 / 6, 1], rtol=0, atol=1e-12)
        assert len(cars["eigenpairs"]["eigenvalues"]) == 16
        assert max(cars["eigenpairs"]["residuals"]) < 1e-12
        assert cars["warnings"] == []

    def test_cars_kernels(self, full_run) -> None:
        cars = full_run[0]["studies"]["cars"]
        errors = {kernel["filter"]: kernel["truncation_error"] for kernel in cars["kernels"]}
        # The linear and the quadratic filter vanish on the 1712-fold eigenvalue 1; the
        # pseudoinverse is 5/6 there.
        assert errors["linear"] == pytest.approx(0, abs=1e-12)
        assert errors["quadratic"] == pytest.approx(0, abs=1e-12)
        assert errors["pseudoinverse"] == pytest.approx(5 / 6 * np.sqrt(1712))
        forms = {kernel["filter"]: kernel["full_rank_form"] for kernel in cars["kernels"]}
        assert forms == {
            "linear": "affine",
            "quadratic": "structured",
            "pseudoinverse": "structured",
        }

    def test_spiral(self, full_run) -> None:
        spiral = full_run[0]["studies"]["spiral"]
        assert spiral["graph"]["points"] == N
        assert spiral["graph"]["components"] == 1
        assert spiral["graph"]["their measured error"] <= 1e-6
        values = np.array(spiral["eigenpairs"]["eigenvalues"])
        assert values.shape == (11,)
        assert values[0] == 0
        assert (np.diff(values) > 0).all()
        # Those of the paper's sample of 10,000 points, up to the randomness of the points.
        assert values[[1, 2, 10]] == pytest.approx([0.149177, 0.409, 0.927397], abs=0.01)
        assert max(spiral["eigenpairs"]["residuals"]) <= 1e-6
        assert spiral["warnings"] == []

    def test_spiral_kernels(self, full_run) -> None:
        spiral = full_run[0]["studies"]["spiral"]
        kernels = {kernel["filter"]: kernel for kernel in spiral["kernels"]}
        second, last = np.array(spiral["eigenpairs"]["eigenvalues"])[[1, -1]]
        # The discarded eigenvalues lie between the last one kept and about 1.002.
        inverse = kernels["pseudoinverse"]["truncation_error"]
        assert second / 1.01 * np.sqrt(N - 11) < inverse < second / last * np.sqrt(N - 11)
        assert 0 < kernels["quadratic"]["truncation_error"] < kernels["linear"]["truncation_error"]
        assert kernels["linear"]["truncation_error"] < 1
        assert kernels["pseudoinverse"]["rank"] == 10

    def test_accuracies_are_named_for_what_they_are(self, full_run) -> None:
        studies = full_run[0]["studies"]
        tasks = [task for study in studies.values() for task in study["tasks"]]
        assert [task["target"] for task in tasks] == [
            "acceptability",
            "buying",
            "nearest of the five centres",
        ]
        assert [task["labels"] for task in tasks] == [20, 20, 10]
        for task in tasks:
            assert list(task["methods"]) == ["SpectralGPClassifier", "GCNClassifier"]
            assert all(0 < one["accuracy"] <= 1 for one in task["methods"].values())
        assert all(one["accuracy"] > 0.8 for one in tasks[2]["methods"].values())

    def test_without_torch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(studies, "torch_installed", lambda: False)
        (target,) = studies.study_spiral(0, n_per_orb=60).targets
        assert list(target.accuracies) == ["SpectralGPClassifier"]


class TestSeed:
    def test_same_seed_same_bytes(self, tour: tuple[Study, Study]) -> None:
        again = studies.study_spiral(0, n_per_orb=N_PER_ORB)
        first, second = (json.dumps(without_times(one.numbers())) for one in (tour[1], again))
        assert first == second

    def test_other_seed_other_points(self) -> None:
        points = lg.datasets.load_spiral(60, random_state=4).data
        assert studies.study_spiral(4, n_per_orb=60).sample[0] == tuple(
            f"{x:.4f}" for x in points[0]
        )


@pytest.mark.usefixtures("without_figures")
class TestOutput:
    def test_terminal_and_json_agree(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert call("demo", "--out", str(tmp_path)) == 0
        captured = capsys.readouterr()
        assert captured.err == ""  # no progress without a terminal
        assert "\x1b" not in captured.out
        for text in (
            "0 ×1, 0.833333 ×15, 1 ×1712",
            "target acceptability, 20 labels",
            "target buying, 20 labels",
            "target nearest of the five centres, 10 labels",
            "always unacc",
            str(tmp_path / "report.html"),
        ):
            assert text in captured.out
        assert call("demo", "--out", str(tmp_path), "--json") == 0
        document = json.loads(capsys.readouterr().out)
        for study in document["studies"].values():
            for task in study["tasks"]:
                for name, found in task["methods"].items():
                    line = f"{name:<22}{100 * found['accuracy']:.1f} % of the other rows correct"
                    assert line in captured.out

    def test_quiet(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert call("demo", "--out", str(tmp_path), "--quiet") == 0
        captured = capsys.readouterr()
        assert captured.out == captured.err == ""
        assert (tmp_path / "report.html").read_text() == "a page"

    def test_a_full_disk_leaves_the_old_report(
        self,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        report = tmp_path / "report.html"
        report.write_text("old")
        monkeypatch.setattr(os, "fsync", full)
        assert "No space left" in refused(capsys, "demo", "--out", str(tmp_path))
        assert report.read_text() == "old"
        assert list(tmp_path.iterdir()) == [report]


class TestBadInput:
    def test_one_line_and_exit_code_2(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "file"
        file.write_text("mine")
        for arguments, expected in [
            (["demo", "--out", "{file}"], "is a file"),
            (["demo", "--out", "{file}/below"], "--out"),
            (["demo", "--seed", "-1"], "--seed"),
            (["demo", "--seed", "4294967296"], "--seed"),
            (["demo", "--seed", "one"], "--seed"),
            (["demo", "--colour"], "--colour"),
            (["demo", "table.csv"], "table.csv"),
            (["classfy"], "classfy"),
        ]:
            given = [argument.format(file=file) for argument in arguments]
            assert expected in refused(capsys, *given), arguments
            assert file.read_text() == "mine"
            assert list(tmp_path.iterdir()) == [file]

    def test_a_folder_without_permission(
        self,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        # Not by chmod: an administrator may write everywhere.
        monkeypatch.setattr(os, "access", lambda *_: False)
        assert "Permission denied" in refused(capsys, "demo", "--out", str(tmp_path))


class TestProcess:
    @pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for single processes")
    def test_interrupted(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        process = subprocess.Popen(
            [*MODULE, "demo", "--out", str(out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            deadline = time.monotonic() + 60
            while not out.exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            printed, said = process.communicate(timeout=60)
        assert process.returncode == 130
        assert printed == ""
        assert "Traceback" not in said
        assert said.splitlines()[-1] == "interrupted"
        assert list(out.iterdir()) == []


class TestHelp:
    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert call("--version") == 0
        assert capsys.readouterr().out == f"lowrankgcn {lg.__version__}\n"

    def test_without_arguments(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert call() == 0
        assert "demo" in capsys.readouterr().out

    def test_demo(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert call("demo", "--help") == 0
        text = capsys.readouterr().out
        assert "Examples:" in text and "lowrankgcn demo --out demo-1" in text
        for option in ("--out", "--seed", "--json", "--quiet"):
            assert option in text
