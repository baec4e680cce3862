"""The report: one file, well formed, nothing loaded from elsewhere; and the rule it shows."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import lowrankgcn as lg
from lowrankgcn.cli.tour import study_cars, study_spiral
from lowrankgcn.report import (
    Study,
    class_plane,
    render,
    spectral_embedding,
)
from lowrankgcn.report.study import KernelSummary
from lowrankgcn.report.text import cut_text, error_text

_VOID = {"meta", "br", "img", "hr", "link", "input", "col", "base", "source", "wbr"}
_LOADING = {"src", "href", "xlink:href", "srcset", "data", "poster", "action", "background"}


class Page(HTMLParser):
    """Collects what the checks need, and fails on tags that do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def _note(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attributes:
            assert value is not None, f"<{tag}> has the attribute {name} without a value"
            if name == "id":
                self.ids.append(value)
            if name in _LOADING:
                self.references.append(value)
            self.references += re.findall(r"url\(\s*['\"]?([^)'\"]*)", value)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.references += re.findall(r"url\(([^)]*)|(@import[^;]*)", data)
        else:
            self.text.append(data)


def make(studies: list[Study]) -> str:
    return render(
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
    return Page(html)


class TestPage:
    def test_loads_nothing(self, html: str, page: Page) -> None:
        assert page.references
        assert all(r.startswith(("#", "data:image/png;base64,")) for r in page.references)
        assert "http:" not in html
        assert "https:" not in html
        assert not {"script", "iframe", "link", "object", "embed"} & set(page.tags)

    def test_ids_are_unique_and_references_resolve(self, page: Page) -> None:
        assert len(page.ids) == len(set(page.ids))
        inner = {r[1:] for r in page.references if r.startswith("#")}
        assert inner <= set(page.ids)

    def test_is_a_document_for_phones(self, html: str, page: Page) -> None:
        assert html.startswith("<!DOCTYPE html>")
        assert '<meta charset="utf-8">' in html
        assert 'name="viewport"' in html
        assert "prefers-color-scheme: dark" in html
        assert page.tags.count("title") == page.tags.count("h1") == 1

    def test_figures(self, html: str, page: Page) -> None:
        # Spectrum and filters of both, three embeddings, the points.
        assert page.tags.count("svg") == page.tags.count("figure") == 8
        assert html.count('role="img" aria-label=') == 8
        # Points are bitmaps, so that the page stays small.
        assert html.count("data:image/png") == 4
        assert len(html) < 2_500_000

    def test_figures_take_the_colour_of_the_text(self, html: str) -> None:
        assert "currentColor" in html
        assert "#000000" not in html
        assert "#102132" not in html

    def test_numbers(self, page: Page, studies: list[Study]) -> None:
        text = " ".join(page.text)
        assert "0 ×1, 0.833333 ×15, 1 ×1712" in text
        for study in studies:
            assert study.title in text
            for task in study.tasks:
                assert f"{100 * task.accuracy:.1f} %" in text
        for value in studies[1].pairs.eigenvalues[1:]:
            assert f"{value:.6f}" in text

    def test_how_to_repeat(self, page: Page) -> None:
        text = " ".join(page.text)
        assert "lowrankgcn demo --seed 0" in text
        assert "import lowrankgcn as lg" in text
        assert "load_spiral(80, random_state=0)" in text

    def test_code_runs(self, studies: list[Study]) -> None:
        for study in studies:
            names: dict[str, object] = {"lg": lg}
            exec(study.code, names)
            pairs = names["pairs"]
            assert isinstance(pairs, lg.Eigenpairs)
            assert np.array_equal(pairs.eigenvalues, study.pairs.eigenvalues)

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

    def test_repeats_to_the_byte(self, html: str, studies: list[Study]) -> None:
        assert make(studies) == html


class TestClassPlane:
    def test_does_not_depend_on_the_basis_of_a_multiple_eigenvalue(self) -> None:
        study = study_cars(0)
        task = study.tasks[0]
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
            studies[0].tasks[0],
            classes=np.array([0, 0, 0, 0, 1, 1]),
            predicted=np.array([1, 0, 0, 1, 1, 0]),
            training=np.array([0], dtype=np.intp),
        )
        assert task.accuracy == 3 / 5
        assert task.balanced_accuracy == pytest.approx((2 / 3 + 1 / 2) / 2)
        assert task.largest_class == ("unacc", 3 / 5)


@pytest.mark.parametrize(
    ("value", "spread", "text"),
    [
        (34.480268, 0.0, "34.48"),
        (15.06018, 0.001002, "15.0602 ± 0.0010"),
        (140.2, 12.5, "140 ± 12"),
    ],
)
def test_errors_are_rounded_as_they_are_known(value: float, spread: float, text: str) -> None:
    kernel = KernelSummary("linear", "linear", 3, value, spread, None)
    assert error_text(kernel) == text
    assert cut_text(kernel) == "–"
