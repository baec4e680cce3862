"""What every graph has in common."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowrankgcn.graphs.base import Graph, magnitude, number_components, read_only


def test_graph_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Graph()  # type: ignore[abstract]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_components_are_numbered_by_first_node(labels: list[int]) -> None:
    numbers = number_components(np.array(labels))
    order: list[int] = []
    for label in labels:
        if label not in order:
            order.append(label)
    assert numbers.tolist() == [order.index(label) for label in labels]


@given(
    st.lists(
        st.one_of(st.just(0.0), st.floats(5e-324, 1.7e308), st.floats(-1.7e308, -5e-324)),
        min_size=1,
        max_size=5,
    )
)
def test_magnitude_scales_points_to_one(values: list[float]) -> None:
    points = np.array([values])
    scaled = np.ldexp(points, -magnitude(points))
    largest = np.abs(scaled).max()
    assert largest == 0 or 0.5 <= largest < 1
    assert math.isfinite(largest)


def test_read_only_shares_the_data() -> None:
    array = np.zeros(3)
    view = read_only(array)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0
    array[0] = 2.0
    assert view[0] == 2.0
