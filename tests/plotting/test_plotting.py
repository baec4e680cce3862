"""Plots: what is drawn where."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from lowrankgcn.estimators.gp_model import LearnedFilter
from lowrankgcn.plotting import plot_embedding, plot_filter, plot_spectrum
from lowrankgcn.plotting.drawing import GREY
from lowrankgcn.spectral.filters import (
    Heat,
    HighPass,
    Linear,
    Pseudoinverse,
    Quadratic,
    ZeroImpulse,
)

# The exemplary spectrum of the paper's figure of filters (section A2.2).
SPECTRUM = np.array(
    [
        *(0, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.87, 0.9, 0.92, 0.94, 0.97),
        *(1, 1.03, 1.06, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5),
    ]
)
PAPER = [Linear("auto"), Quadratic("auto"), "pseudoinverse"]


def marks(ax: Axes, marker: str) -> np.ndarray:
    """Every point drawn with this marker, sorted by eigenvalue."""
    lines = [line for line in ax.lines if line.get_marker() == marker]
    points = np.concatenate([line.get_xydata() for line in lines])
    return points[np.argsort(points[:, 0])]


def curves(ax: Axes) -> list[np.ndarray]:
    return [line.get_xydata() for line in ax.lines if len(line.get_xdata()) > 1000]


def legend(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def check_errors(plot: Any, calls: list[tuple[dict[str, Any], str]], **defaults: Any) -> None:
    """Check the message of each malformed call."""
    for arguments, message in calls:
        with pytest.raises(ValueError) as error:
            plot(**(defaults | arguments))
        assert message in str(error.value), arguments


def rendered(ax: Axes) -> bytes:
    buffer = io.BytesIO()
    ax.figure.savefig(buffer, format="png", dpi=50)
    return buffer.getvalue()


def test_filters_of_the_papers_figure() -> None:
    ax = plot_filter(PAPER, SPECTRUM)
    assert legend(ax) == [
        "linear (largest=1.5)",
        "quadratic (largest=1.5)",
        "pseudoinverse (scale=0.3)",
    ]
    expected = [Linear(1.5), Quadratic(1.5), Pseudoinverse(0.3)]
    for marker, phi in zip("os^", expected, strict=True):
        drawn = marks(ax, marker)
        np.testing.assert_allclose(drawn[:, 0], SPECTRUM, atol=1e-3)
        np.testing.assert_allclose(drawn[:, 1], phi(SPECTRUM), atol=1e-3)


def test_low_rank_filters_of_the_papers_figure() -> None:
    # Rank 6: λ₁..λ₆ for linear and quadratic, λ₂..λ₇ for the pseudoinverse (equations 10 to 12).
    ax = plot_filter(PAPER, SPECTRUM, rank=6)
    for marker, phi, first in [
        ("o", Linear(1.5), 0),
        ("s", Quadratic(1.5), 0),
        ("^", Pseudoinverse(0.3), 1),
    ]:
        expected = np.zeros(SPECTRUM.size)
        expected[first : first + 6] = phi(SPECTRUM[first : first + 6])
        np.testing.assert_allclose(marks(ax, marker)[:, 1], expected, atol=1e-3)


def test_pseudoinverse_curve_starts_at_the_smallest_nonzero() -> None:
    (curve,) = curves(plot_filter("pseudoinverse", SPECTRUM))
    drawn = curve[np.isfinite(curve[:, 1])]
    assert 0.28 < drawn[0, 0] <= 0.3
    assert drawn[:, 1].max() <= 1.05


def test_range_is_the_spectrum_or_zero_to_two() -> None:
    (curve,) = curves(plot_filter("linear"))
    assert curve[[0, -1], 0].tolist() == [0.0, 2.0]
    (curve,) = curves(plot_filter("linear", [0.0, 0.25]))
    assert curve[[0, -1], 0].tolist() == [0.0, 0.25]
    (curve,) = curves(plot_filter("linear", [-1e-3, 0.25]))
    assert curve[0, 0] == -1e-3


def test_poles_do_not_squeeze_the_other_curves_but_peaks_stay() -> None:
    ax = plot_filter(["linear", Pseudoinverse(0.15)])
    assert ax.get_ylim()[1] < 3
    (peak,) = curves(plot_filter("regularized-inverse"))
    assert np.nanmax(peak[:, 1]) == 20.0
    (step,) = curves(plot_filter(HighPass(1.9)))
    assert step[-1, 1] == 1.0


def test_values_at_zero_are_marked() -> None:
    for phi, value in [(ZeroImpulse(), 1.0), (HighPass(), 0.0)]:
        ax = plot_filter(phi)
        np.testing.assert_array_equal(marks(ax, "o"), [[0.0, value]])
        (curve,) = curves(ax)
        assert np.isnan(curve[0, 1])
        np.testing.assert_array_equal(curve[1:, 1], 1.0 - value)


def test_filters_bind_past_rounding_errors() -> None:
    # A spectrum from dense LAPACK has zeros of the size of a rounding error, of either sign.
    for zero in [1e-16, -1e-16]:
        assert legend(plot_filter("pseudoinverse", [zero, 0.3, 1.0])) == [
            "pseudoinverse (scale=0.3)"
        ]


def test_single_eigenvalues_and_wide_lists_can_be_drawn() -> None:
    rendered(plot_filter("linear", [0.0]))
    rendered(plot_filter(["linear"] * 20, [0.0, 1.0]))
    assert len(legend(plot_filter(["heat", Heat(2), Heat(3)]))) == 3


@settings(max_examples=20)
@given(st.lists(st.floats(0, 2), min_size=1, max_size=12), st.data())
def test_rank_keeps_the_largest_responses(values: list[float], data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, len(values)))
    ax = plot_filter(Heat(3.0), values, rank=rank)
    (kept, discarded) = [line for line in ax.lines if line.get_marker() == "o"]
    cut = np.sort(np.exp(-3 * np.array(values)))[::-1][rank - 1]
    assert (kept.get_ydata() >= cut - 1e-12).all()
    assert (discarded.get_ydata() == 0).all()


LEARNED = LearnedFilter("two-words", np.array([0.0, 0.1, 0.4]), np.array([6.0, 3.0, 1.5]))


def test_learned_filters_are_relative_to_their_largest_response() -> None:
    flat = LearnedFilter("gaussian", np.array([0.0, 0.5]), np.zeros(2))  # amplitudes may be zero
    ax = plot_filter({"two-words": LEARNED, "gaussian": flat})
    assert legend(ax) == ["two words", "gaussian"]
    np.testing.assert_allclose(marks(ax, "o"), [[0, 1], [0.1, 0.5], [0.4, 0.25]])
    np.testing.assert_allclose(marks(ax, "s"), [[0, 0], [0.5, 0]])
    single = plot_filter(LEARNED)
    np.testing.assert_allclose(marks(single, "o"), marks(ax, "o"))
    assert legend(single) == ["two words"]
    rendered(ax)


def test_filters_explain_bad_arguments() -> None:
    calls: list[tuple[dict[str, Any], str]] = [
        (
            {"filters": "pseudoinverse"},
            "eigenvalues: expected a positive one, which filter 'pseudoinverse' needs, got None",
        ),
        ({"filters": "linear", "rank": 3}, "eigenvalues: expected a spectrum to apply the rank to"),
        (
            {"filters": "linear", "eigenvalues": [0.0, 1.0], "rank": 3},
            "rank: expected an integer >= 1 and <= 2, got 3",
        ),
        ({"filters": "linear", "eigenvalues": []}, "eigenvalues: expected at least one, got none"),
        (
            {"filters": "pseudoinverse", "eigenvalues": [0.0, 0.0]},
            "eigenvalues: expected a positive one, which filter 'pseudoinverse' needs, got zeros",
        ),
        ({"filters": "lineer"}, "filter: expected one of 'linear'"),
        ({"filters": "linear", "eigenvalues": [[0.0]]}, "eigenvalues: expected a real numeric"),
        ({"filters": LEARNED, "eigenvalues": [0.0, 1.0]}, "eigenvalues: expected None, because"),
        ({"filters": LEARNED, "rank": 2}, "rank: expected None, because learned filters"),
        ({"filters": {"knn": "linear"}}, "filters['knn']: expected a LearnedFilter, got str"),
    ]
    check_errors(plot_filter, calls)


def test_spectrum_with_residuals() -> None:
    eigenvalues, residuals = [1e-17, 0.0, 0.2, 0.9], [0.0, 1e-12, 1e-9, 1e-3]
    ax = plot_spectrum(eigenvalues, residuals=residuals)
    values, zeros = ax.lines
    np.testing.assert_array_equal(values.get_xydata(), [[3, 0.2], [4, 0.9]])
    np.testing.assert_array_equal(zeros.get_xydata(), [[1, 0.0], [2, 0.0]])
    assert zeros.get_markerfacecolor() == "none"
    (right,) = [other for other in ax.figure.axes if other is not ax]
    assert right.get_yscale() == "log"
    np.testing.assert_array_equal(right.lines[0].get_ydata(), [1e-17, 1e-12, 1e-9, 1e-3])
    low, high = right.get_ylim()
    assert low < 1e-17 < 1e-3 < high
    assert legend(ax) == ["eigenvalue", "zero (component)", "residual (right)"]


def test_spectrum_without_residuals() -> None:
    ax = plot_spectrum([0.5, 0.6])
    assert ax.figure.axes == [ax]
    assert legend(ax) == ["eigenvalue"]
    assert ax.get_ylim()[0] <= 0
    # An indefinite approximation is shown as it is.
    assert plot_spectrum([-0.1, 0.5]).get_ylim()[0] < -0.1
    rendered(plot_spectrum([0.0, 0.0]))


def test_spectrum_of_one_value() -> None:
    for eigenvalues, top in [([0.0], 1.0), ([0.0, 0.0], 1.0), ([0.4], 0.4)]:
        ax = plot_spectrum(eigenvalues)
        assert ax.get_ylim()[0] < 0 < top < ax.get_ylim()[1]
        low, high = ax.get_xlim()
        ticks = [tick for tick in ax.get_xticks() if low <= tick <= high]
        assert ticks == list(range(1, len(eigenvalues) + 1))


def test_spectrum_explains_bad_residuals() -> None:
    calls: list[tuple[dict[str, Any], str]] = [
        ({"residuals": [1.0]}, "residuals: expected an array of shape (2), got shape (1,)"),
        ({"residuals": [1.0, -1.0]}, "residuals: expected norms >= 0, got -1.0"),
        ({"residuals": [1.0, np.nan]}, "residuals: expected finite entries, got nan at index (1,)"),
    ]
    check_errors(plot_spectrum, calls, eigenvalues=[0.0, 1.0])


def scattered(ax: Axes) -> dict[tuple[float, float], str]:
    """Colour of each point."""
    return {
        (float(x), float(y)): to_hex(group.get_color())
        for group in ax.lines
        for x, y in group.get_xydata()
    }


def points_by_size(ax: Axes) -> dict[float, np.ndarray]:
    """Points in the order of drawing by the size of their marks."""
    sizes = dict.fromkeys(group.get_markersize() for group in ax.lines)
    return {
        size: np.concatenate(
            [group.get_xydata() for group in ax.lines if group.get_markersize() == size]
        )
        for size in sizes
    }


@pytest.mark.parametrize("labels", [["a", "b", "a", "c"], [0, 5, 0, 7]])
def test_embedding_places_and_colours_nodes(labels: list[Any]) -> None:
    U = np.arange(12.0).reshape(4, 3)
    ax = plot_embedding(U, labels)
    colours = scattered(ax)
    assert set(colours) == {(1.0, 2.0), (4.0, 5.0), (7.0, 8.0), (10.0, 11.0)}
    assert colours[1.0, 2.0] == colours[7.0, 8.0]
    assert len(set(colours.values())) == 3
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("eigenvector 2", "eigenvector 3")
    # Legend and points agree.
    by_name = {
        text: to_hex(handle.get_color())
        for text, handle in zip(legend(ax), ax.get_legend().get_lines(), strict=True)
    }
    assert by_name[str(labels[1])] == colours[4.0, 5.0]


def test_embedding_chooses_columns() -> None:
    ax = plot_embedding(np.arange(12.0).reshape(3, 4), columns=(3, 0))
    assert set(scattered(ax)) == {(3.0, 0.0), (7.0, 4.0), (11.0, 8.0)}
    assert ax.get_xlabel() == "eigenvector 4"
    assert ax.get_legend() is None


def test_embedding_draws_unlabelled_nodes_grey_and_behind() -> None:
    for missing in (-1, -1.0, None, float("nan"), pd.NA, "", np.int64(-1)):
        labels = np.array([missing, "yes", missing], dtype=object)
        ax = plot_embedding(np.arange(9.0).reshape(3, 3), labels)
        (small, behind), (large, front) = points_by_size(ax).items()
        assert (len(behind), len(front)) == (2, 1), missing
        assert large > small
        assert {to_hex(line.get_color()) for line in ax.lines[:-1]} == {GREY}
        assert legend(ax) == ["yes", "unlabelled"]


def test_embedding_of_only_unlabelled_nodes() -> None:
    assert legend(plot_embedding(np.eye(3), [-1, -1, -1])) == ["unlabelled"]


def test_embedding_keeps_labelled_nodes_of_a_large_graph() -> None:
    U = np.random.default_rng(0).standard_normal((1000, 3))
    labels = np.full(1000, -1)
    labels[[3, 500]] = [0, 1]
    one, two = (points_by_size(plot_embedding(U, labels, max_points=50)) for _ in range(2))
    assert [len(points) for points in one.values()] == [48, 2]
    for first, second in zip(one.values(), two.values(), strict=True):
        np.testing.assert_array_equal(first, second)


def test_no_class_hides_another() -> None:
    U = np.random.default_rng(0).standard_normal((300, 3))
    drawn = [line.get_gid().split("-")[1] for line in plot_embedding(U, np.arange(300) % 3).lines]
    assert drawn == ["0", "1", "2"] * 10


def test_embedding_of_many_classes_has_distinct_marks_and_a_short_legend() -> None:
    labels = np.repeat(np.arange(30), 2)
    ax = plot_embedding(np.random.default_rng(0).standard_normal((60, 3)), labels)
    assert legend(ax)[-1] == "and 10 more"
    handles = ax.get_legend().get_lines()[:-1]
    assert len({(h.get_color(), h.get_marker()) for h in handles}) == 20
    rendered(ax)


def test_embedding_explains_bad_arguments() -> None:
    calls: list[tuple[dict[str, Any], str]] = [
        ({"labels": [1, 2]}, "labels: expected an array of shape (3), got shape (2,)"),
        ({"columns": (1, 3)}, "columns: expected two columns of the 3 eigenvectors, 0..2, got"),
        ({"columns": (1, -1)}, "columns: expected two columns of the 3 eigenvectors, 0..2, got"),
        ({"columns": (1,)}, "columns: expected two columns of the 3 eigenvectors, 0..2, got (1,)"),
        ({"columns": 1}, "columns: expected two columns of the 3 eigenvectors, 0..2, got 1"),
        ({"max_points": 0}, "max_points: expected an integer >= 1, got 0"),
        ({"eigenvectors": [1.0, 2.0]}, "eigenvectors: expected a real numeric array with 2 dim"),
    ]
    check_errors(plot_embedding, calls, eigenvectors=np.eye(3))


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: plot_filter(PAPER, SPECTRUM, rank=4, ax=ax),
        lambda ax: plot_spectrum(SPECTRUM, residuals=SPECTRUM, ax=ax),
        lambda ax: plot_embedding(np.eye(5), list("abcab"), ax=ax),
    ],
)
def test_drawing_on_given_or_new_axes_without_pyplot(draw: Any) -> None:
    given_ax = Figure(layout="constrained").subplots()
    assert draw(given_ax) is given_ax
    new = draw(None)
    assert isinstance(new, Axes)
    assert rendered(new).startswith(b"\x89PNG")
    assert new.get_xlabel()
    assert new.get_ylabel()
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_legend_covers_no_data_and_stays_in_the_figure() -> None:
    drawn = [
        plot_filter(PAPER, SPECTRUM),
        plot_filter(["linear", "quadratic", "heat", "constant", Heat(4), HighPass(), Heat(9)]),
        plot_spectrum(SPECTRUM, residuals=SPECTRUM),
        plot_embedding(np.eye(9), ["unlabelled class with a rather long name", *"bcdefghi"]),
    ]
    for ax in drawn:
        ax.figure.draw_without_rendering()
        box, axes = ax.get_legend().get_window_extent(), ax.get_window_extent()
        assert box.y0 >= axes.y1
        assert box.x1 <= ax.figure.bbox.x1 + 1
        assert box.y1 <= ax.figure.bbox.y1 + 1
