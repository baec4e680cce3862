"""Draw the pictures of the pages on mathematics and accuracy: ``python docs/images/make.py``.

The filters of Cora and texas are drawn if the folder ``LOWRANKGCN_DATA`` has these graphs.

Backgrounds are transparent and lines are grey, so that the pictures are legible on light and dark
pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.datasets import make_moons

import lowrankgcn as lg

FOLDER = Path(__file__).parent
GREY, BLUE, ORANGE, GREEN, PINK = "#80868F", "#2E8BC9", "#D9722B", "#1FA37A", "#C977A6"
STYLE = {
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": GREY,
    "axes.titlesize": 12,
    "font.size": 12,
    "legend.frameon": False,
    "legend.labelcolor": GREY,
    "lines.linewidth": 2,
    "svg.hashsalt": "lowrankgcn",  # the same file in every run
    "text.color": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
}

POINTS, MOON = make_moons(200, noise=0.08, random_state=0)
LAPLACIAN = lg.Laplacian(lg.GaussianGraph(POINTS, bandwidth=0.3))
VALUES, VECTORS = np.linalg.eigh(np.asarray(LAPLACIAN))
VALUES[0] = 0.0  # without its rounding error
ALONG = np.argsort(POINTS[:, 0])  # from left to right
LABELLED = np.r_[ALONG[MOON[ALONG] == 0][[30, 60, 95]], ALONG[MOON[ALONG] == 1][[5, 35, 60]]]


def new(height: float, columns: int, **options: Any) -> tuple[Figure, Any]:
    """Return a figure of the width of a page, and its axes."""
    figure = Figure(figsize=(7.0, height), layout="constrained")
    return figure, figure.subplots(1, columns, **options)


def save(figure: Figure, name: str) -> None:
    """Write an SVG file without a date."""
    figure.savefig(FOLDER / f"{name}.svg", transparent=True, metadata={"Date": None})


def map_of(ax: Any, colours: Any, title: str, size: float = 26, **options: Any) -> Any:
    """Draw the points in the given colours."""
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_title(title)
    return ax.scatter(*POINTS.T, c=colours, s=size, edgecolors=GREY, linewidths=0.4, **options)


def draw_graphs() -> None:
    """Draw a Gaussian graph and the hypergraph of a table."""
    figure, (left, right) = new(2.9, 2)
    points, _ = make_moons(28, noise=0.06, random_state=1)
    weights = np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 0.5**2)
    for i, j in np.argwhere(np.triu(weights, 1) > 0.01):
        left.plot(*points[[i, j]].T, color=BLUE, alpha=float(weights[i, j]), linewidth=1.5)
    left.scatter(*points.T, color=GREY, s=24, zorder=3)
    left.set_title("points: an edge for every pair")
    left.set_axis_off()
    left.set_aspect("equal")
    rows = [("red", "small"), ("red", "large"), ("blue", "large"), ("blue", "small")]
    places = {"red": 2.6, "blue": 1.9, "small": 0.9, "large": 0.2}
    colours = dict(zip(places, (ORANGE, BLUE, GREEN, PINK), strict=True))
    for i, cells in enumerate(rows):
        height = 2.6 - 0.8 * i
        right.text(-0.08, height, f"row {i + 1}: {', '.join(cells)}", ha="right", va="center")
        for value in cells:
            right.plot([0, 1], [height, places[value]], color=colours[value])
        right.scatter(0, height, color=GREY, s=30, zorder=3)
    for value, height in places.items():
        right.text(1.08, height, value, va="center", color=colours[value])
        right.scatter(1, height, color=colours[value], marker="s", s=60, zorder=3)
    right.set(xlim=(-1.5, 1.6), ylim=(-0.1, 3.0))
    right.set_title("table: a hyperedge for every value")
    right.set_axis_off()
    save(figure, "graphs")


def draw_eigenvectors() -> None:
    """Draw two eigenvectors of small and one of a large eigenvalue."""
    figure, axes = new(2.0, 3)
    for ax, number in zip(axes, (1, 2, 120), strict=True):
        vector = VECTORS[:, number] / np.abs(VECTORS[:, number]).max()
        title = f"$\\lambda_{{{number + 1}}} = {VALUES[number]:.3f}$"
        map_of(ax, vector, title, cmap="PuOr", vmin=-1, vmax=1)
    save(figure, "eigenvectors")


def draw_filters() -> None:
    """Draw filters over the spectrum, whole and truncated to ten eigenvalues."""
    figure, (left, right) = new(2.9, 2, sharey=True)
    names = ("linear", "quadratic", "heat", "pseudoinverse")
    filters = (
        lg.filters.Linear(),
        lg.filters.Quadratic(),
        lg.filters.Heat(time=5.0),
        lg.filters.Pseudoinverse().bind(smallest_nonzero=float(VALUES[1])),
    )
    grid = np.linspace(VALUES[1], 1.2, 300)
    for phi, name, colour in zip(filters, names, (BLUE, GREEN, PINK, ORANGE), strict=True):
        left.plot(grid, phi(grid), color=colour, label=name)
    left.plot(VALUES, np.full(len(VALUES), -0.28), "|", color=GREY, markersize=7)
    left.legend(fontsize=11, handlelength=1.2)
    left.set(xlabel=r"eigenvalue $\lambda$", ylabel=r"$\varphi(\lambda)$", ylim=(-0.35, 1.05))
    left.set_title("filters on a spectrum")
    responses = filters[-1](VALUES)
    kept = np.argsort(-np.abs(responses))[:10]
    right.plot(VALUES, responses, "o", color=GREY, markersize=3, label="dropped")
    right.plot(VALUES[kept], responses[kept], "o", color=ORANGE, label="kept, r = 10")
    right.legend(fontsize=11, handlelength=1.0)
    right.set(xlabel=r"eigenvalue $\lambda$")
    right.set_title("pseudoinverse of low rank")
    save(figure, "filters")


def draw_errors() -> None:
    """Draw the relative truncation error over the rank."""
    figure, ax = new(2.9, 1)
    ranks = np.arange(1, 41)
    filters = {
        "linear": (lg.filters.Linear(), BLUE),
        "pseudoinverse": (lg.filters.Pseudoinverse().bind(float(VALUES[1])), ORANGE),
        "heat, t = 5": (lg.filters.Heat(time=5.0), PINK),
        "heat, t = 20": (lg.filters.Heat(time=20.0), GREEN),
    }
    for name, (phi, colour) in filters.items():
        squares = np.sort(phi(VALUES) ** 2)[::-1]
        errors = np.sqrt(np.maximum(1 - np.cumsum(squares) / squares.sum(), 0))
        ax.semilogy(ranks, errors[ranks - 1], color=colour, label=name)
    ax.set(xlabel="rank r", ylabel="relative error", ylim=(1e-4, 1.3))
    ax.legend(fontsize=11, loc="upper right", bbox_to_anchor=(1.0, 0.62))
    save(figure, "truncation")


def draw_networks() -> None:
    """Draw the layers of a GCN and of a reduced-order GCN."""
    figure, axes = new(2.3, 2, width_ratios=(3.9, 6.85))
    widths, tall, short = (0.9, 0.6, 0.35), 2.4, 0.7
    for ax, title in zip(axes, ("GCN and L-GCN", "R-GCN"), strict=True):
        reduced = title == "R-GCN"
        heights = (tall, short, short, short, tall) if reduced else (tall,) * 3
        columns = (0.9, *widths, 0.35) if reduced else widths
        steps = ("$U_r^T$", "σ", "", "$U_r$") if reduced else ("σ", "")
        start = 0.0
        for k, (height, width) in enumerate(zip(heights, columns, strict=True)):
            colour = ORANGE if height == short else BLUE
            box = Rectangle((start, -height / 2), width, height, color=colour, alpha=0.75)
            ax.add_patch(box)
            if k < len(steps):
                ax.annotate(
                    "",
                    (start + width + 0.75, 0),
                    (start + width + 0.1, 0),
                    arrowprops={"arrowstyle": "->", "color": GREY},
                )
                ax.text(start + width + 0.42, 0.12, steps[k], ha="center")
            start += width + 0.85
        ax.text(0.45, -tall / 2 - 0.15, "n rows", ha="center", va="top", color=BLUE)
        if reduced:
            ax.text(3.3, -short / 2 - 0.15, "r rows", ha="center", va="top", color=ORANGE)
        ax.set(xlim=(-0.1, start - 0.6), ylim=(-1.7, 1.3))
        ax.set_title(title)
        ax.set_axis_off()
        ax.set_aspect("equal")
    save(figure, "networks")


def draw_process() -> None:
    """Draw mean and standard deviation of the process with six labelled points."""
    figure, axes = new(2.4, 2)
    features = VECTORS * np.exp(-5 * VALUES)
    features *= np.sqrt(len(POINTS)) / np.linalg.norm(features)  # mean variance one
    K = features @ features.T
    G = K[np.ix_(LABELLED, LABELLED)] + 0.01 * np.eye(len(LABELLED))
    mean = K[:, LABELLED] @ np.linalg.solve(G, 2.0 * MOON[LABELLED] - 1)
    variance = K.diagonal() - (K[:, LABELLED] * np.linalg.solve(G, K[LABELLED]).T).sum(axis=1)
    panels = (
        (mean, "mean of the score", {"cmap": "PuOr", "vmin": -1, "vmax": 1}),
        (np.sqrt(variance), "standard deviation", {"cmap": "viridis", "vmin": 0}),
    )
    for ax, (colours, title, options) in zip(axes, panels, strict=True):
        drawn = map_of(ax, colours, title, **options)
        ax.scatter(*POINTS[LABELLED].T, s=130, facecolors="none", edgecolors=GREY, linewidths=2)
        bar = figure.colorbar(drawn, ax=ax, shrink=0.7)
        bar.outline.set_visible(False)
    save(figure, "process")


def draw_learned() -> None:
    """Draw the filters that are learned on Cora and texas, ten splits of each."""
    figure, axes = new(2.9, 2, sharey=True)
    cora, texas = (
        lg.datasets.fetch_planetoid("cora", fetch=False),
        lg.datasets.fetch_heterophilous("texas", fetch=False),
    )
    generator = np.random.default_rng(0)
    classes = [np.flatnonzero(cora.target == k) for k in range(7)]
    drawn = [
        np.concatenate([generator.choice(one, 20, replace=False) for one in classes])
        for _ in range(10)
    ]
    splits = {"texas": [np.flatnonzero(split == 1) for split in texas.splits], "Cora": drawn}
    titles = {"Cora": "Cora: papers cite their own topic", "texas": "texas: pages link other kinds"}
    for ax, name, data, colour in zip(
        axes, ("Cora", "texas"), (cora, texas), (BLUE, ORANGE), strict=True
    ):
        curves = []
        for known in splits[name]:
            y = np.full(len(data.target), -1)
            y[known] = data.target[known]
            fitted = lg.SpectralGPClassifier(graph=data.graph, random_state=0).fit(data.data, y)
            learned = fitted.filter_["graph"]
            curves.append(learned.response / learned.response.max())
            ax.plot(learned.eigenvalues, curves[-1], color=GREY, linewidth=0.7, alpha=0.6)
        ax.plot(learned.eigenvalues, np.mean(curves, axis=0), color=colour, linewidth=2.5)
        ax.set(xlabel=r"eigenvalue $\lambda$ of $I - S$", ylim=(0, 1.05))
        ax.set_title(titles[name])
    axes[0].set_ylabel(r"$\varphi(\lambda)\,/\,\max \varphi$")
    save(figure, "learned")


if __name__ == "__main__":
    with mpl.rc_context(STYLE):
        draw_graphs()
        draw_eigenvectors()
        draw_filters()
        draw_errors()
        draw_networks()
        draw_process()
        if (lg.datasets.data_directory() / "graphs" / "cora.npz").is_file():
            draw_learned()
