"""The quickest examples of the gallery run; building the documentation runs all of them."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
pytestmark = pytest.mark.skipif(
    not (DOCS / "gallery").is_dir(), reason="the documentation is not part of the package"
)


@pytest.mark.parametrize("name", ["plot_0_overview", "plot_1_filters", "plot_2_learned_filter"])
def test_an_example_draws_its_figures(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [name])
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    try:
        runpy.run_path(str(DOCS / "gallery" / f"{name}.py"), run_name="__main__")
        assert plt.get_fignums()
        for number in plt.get_fignums():
            plt.figure(number).draw_without_rendering()
    finally:
        plt.close("all")


def test_numbers_of_the_mushrooms_are_those_of_the_reproduction() -> None:
    """The example copies them, because the data has to be downloaded."""
    source = (DOCS / "gallery" / "plot_8_table_2.py").read_text("utf-8")
    copied = ast.literal_eval(source.partition("OURS_ON_MUSHROOMS = ")[2].partition("\n}")[0] + "}")
    page = (DOCS / "reproduction.md").read_text("utf-8")
    table = page.partition("## Table 2: mushrooms")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([LR]?-?GCN) (\w+) \| ([\d.]+) ± ([\d.]+) \|", table, re.MULTILINE)
    assert copied == {(name, phi): (float(a), float(b)) for name, phi, a, b in rows}
    assert len(copied) == 9
