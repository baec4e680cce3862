"""Labelled rows: how many of each class, and on what the draw depends."""

from __future__ import annotations

import numpy as np
import pytest

from lowrankgcn.experiments.comparison.splits import (
    check_counts,
    draw_labels,
    draw_order,
    split_seed,
)

CLASSES = np.repeat([0, 1, 2, -1], [40, 9, 2, 5]).astype(np.intp)


class TestLabels:
    @pytest.mark.parametrize(
        ("count", "expected"), [(1, [1, 1, 1]), (4, [4, 4, 1]), (20, [20, 4, 1])]
    )
    def test_at_most_half_of_a_class(self, count: int, expected: list[int]) -> None:
        labels = draw_labels(CLASSES, count, split=3, seed=1)
        known = labels >= 0
        assert np.bincount(labels[known]).tolist() == expected
        assert (labels[known] == CLASSES[known]).all()

    def test_nested(self) -> None:
        few, many = (draw_labels(CLASSES, count, split=0, seed=0) >= 0 for count in (3, 15))
        assert (many | ~few).all()

    def test_depends_on_split_and_seed(self) -> None:
        drawn = [
            tuple(draw_labels(CLASSES, 5, split=split, seed=seed))
            for split in range(3)
            for seed in range(3)
        ]
        assert len(set(drawn)) == 9
        assert drawn[4] == tuple(draw_labels(CLASSES, 5, split=1, seed=1))

    def test_every_row_is_drawn_equally_often(self) -> None:
        times = sum(
            (draw_labels(CLASSES, 10, split=split, seed=0) == 0)[:40].astype(int)
            for split in range(400)
        )
        # Binomial with 400 draws of probability 1/4: standard deviation 8.7.
        assert np.abs(times - 100).max() < 40

    def test_order_and_seed(self) -> None:
        order = draw_order(56, split=2, seed=0)
        assert sorted(order) == list(range(56))
        assert (order != draw_order(56, split=3, seed=0)).any()
        assert split_seed(2, 0) != split_seed(3, 0)
        assert 0 <= split_seed(2, 0) < 2**31


class TestTooManyLabels:
    def test_half_of_the_largest_class_will_do(self) -> None:
        check_counts(CLASSES, (5, 20))

    def test_more_will_not(self) -> None:
        with pytest.raises(ValueError, match=r"labels per class: expected at most 20.*got 21"):
            check_counts(CLASSES, (5, 21))
