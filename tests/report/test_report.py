"""The report of the demo: one well-formed file without external resources."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lowrankgcn as lg
from lowrankgcn.cli.studies import study_cars, study_spiral
from lowrankgcn.report.embedding import class_plane, spectral_embedding
from lowrankgcn.report.pages import render_studies
from lowrankgcn.report.study import KernelSummary, Study
from tests.browser import measure, needs_browser
from tests.report.page import Page, check


def make(studies: list[Study]) -> str:
    return render_studies(
        studies,
        title="A <title> & more",
        subtitle="sub",
        note="note",
        command="lowrankgcn demo --seed 0",
        seconds=1.25,
    )


@pytest.fixture(scope="module")
def studies() -> list[Study]:
    return [study_cars(0), study_spiral(0, n_per_orb=80)]


@pytest.fixture(scope="module")
def html(studies: list[Study]) -> str:
    return make(studies)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return check(html)


class TestPage:
    def test_figures(self, html: str, page: Page) -> None:
        # Spectrum and filters of both, three embeddings, the points.
        assert page.tags.count("figure") == 8
        assert html.count('role="img" aria-label=') == 8
        # Points are bitmaps, so that the page stays small.
        assert html.count("data:image/png") == 4
        assert len(html) < 2_500_000

    def test_figures_use_the_colour_of_the_text(self, html: str) -> None:
        assert "currentColor" in html
        assert "#000000" not in html
        assert "#102132" not in html

    def test_numbers(self, page: Page, studies: list[Study]) -> None:
        text = " ".join(page.text)
        assert "0 ×1, 0.833333 ×15, 1 ×1712" in text
        for study in studies:
            assert study.title in text
            for task in study.targets:
                for accuracy, balanced in task.accuracies.values():
                    assert f"{100 * accuracy:.1f} %" in text
                    assert f"{100 * balanced:.1f} %" in text
        for value in studies[1].pairs.eigenvalues[1:]:
            assert f"{value:.6f}" in text

    def test_command_and_code(self, page: Page) -> None:
        text = " ".join(page.text)
        assert "lowrankgcn demo --seed 0" in text
        assert "import lowrankgcn as lg" in text
        assert "load_spiral(80, random_state=0)" in text

    def test_printed_code_runs(self, studies: list[Study]) -> None:
        for study in studies:
            names: dict[str, object] = {"lg": lg}
            exec(study.code, names)
            pairs = names["pairs"]
            assert isinstance(pairs, lg.Eigenpairs)
            assert np.array_equal(pairs.eigenvalues, study.pairs.eigenvalues)

    @pytest.mark.usefixtures("no_drawings")
    def test_text_is_escaped(self, html: str, studies: list[Study]) -> None:
        assert "A &lt;title&gt; &amp; more" in html
        hostile = replace(
            studies[0],
            title="<script>alert(1)</script>",
            sample=(("<b>", "&", '"', "'", "x", "y"),),
            warnings=("a < b",),
        )
        page = Page(make([hostile]))
        assert "script" not in page.tags
        assert "<script>alert(1)</script>" in page.text
        assert "Warning: a < b" in page.text

    @needs_browser
    @pytest.mark.parametrize("width", [1200, 420])
    def test_text_fits_the_page(self, html: str, width: int) -> None:
        layout = measure(html, width=width)
        assert layout.scroll_width == width
        assert (layout.overflowing, layout.overlapping) == ([], [])

    def test_repeats_to_the_byte(self, html: str, studies: list[Study]) -> None:
        assert make(studies) == html


class TestClassPlane:
    def test_does_not_depend_on_the_basis_of_a_multiple_eigenvalue(
        self, studies: list[Study]
    ) -> None:
        study = studies[0]
        task = study.targets[0]
        X = spectral_embedding(study.pairs)
        assert X.shape == (1728, 15)
        rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(15, 15)))[0]
        assert np.allclose(
            np.abs(class_plane(X @ rotation, task.classes, task.training)),
            np.abs(class_plane(X, task.classes, task.training)),
            rtol=0,
            atol=1e-10,
        )


class TestTask:
    def test_shares(self, studies: list[Study]) -> None:
        task = replace(
            studies[0].targets[0],
            classes=np.array([0, 0, 0, 0, 1, 1]),
            predictions={"guess": np.array([1, 0, 0, 1, 1, 0])},
            training=np.array([0], dtype=np.intp),
        )
        assert task.accuracies["guess"] == pytest.approx((3 / 5, (2 / 3 + 1 / 2) / 2))
        assert task.largest_class == ("unacc", 3 / 5)


def test_errors_are_rounded_to_their_accuracy() -> None:
    for value, spread, text in [
        (34.480268, 0.0, "34.48"),
        (15.06018, 0.001002, "15.0602 ± 0.0010"),
        (140.2, 12.5, "140 ± 12"),
    ]:
        kernel = KernelSummary("linear", "linear", 3, value, spread, None)
        assert kernel.error_text == text
        assert kernel.cut_text == "–"
