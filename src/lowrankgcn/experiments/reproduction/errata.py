"""What the paper and its published files get wrong, told to users beside the tables.

Every erratum that concerns a row is shown by a run; whether it explains the row's difference is
decided by that run's numbers, in :mod:`~lowrankgcn.experiments.reproduction.results`.

>>> ERRATA["quadratic"].number, ERRATA["quadratic"].title
(3, 'Mushrooms, quadratic filter: 70.09 % belongs to a mistyped filter')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

__all__ = ["ERRATA", "Erratum"]


@final
@dataclass(frozen=True)
class Erratum:
    """Its number, a headline, and what a user has to know."""

    number: int
    title: str
    text: str


_LIST = {
    "labels": (
        "Cars: the published labels are the buying prices",
        "In the published data file the four classes are blocks of 432 consecutive rows and equal "
        "the buying price in all 1728 rows. The buying price is also the first of the six "
        "properties, so the class is among the features. The stated five training nodes per class "
        "are five of each price; of the real classes, acceptability, they hold 16 unacc, 3 acc, 1 "
        "good and no vgood. Table 2 is therefore reproduced with the price as target. "
        'For the real task use load_cars("acceptability"), the default.',
    ),
    "rank": (
        "The rank of a table is smaller than the number of its hyperedges",
        "The hyperedges of every complete column add up to the vector of ones, so a table with c "
        "complete columns loses c − 1 ranks at least: the cars have 16 of 21, the mushrooms 84 of "
        "112. The paper's rank 20 on the cars, and 100 on the mushrooms, contain arbitrary vectors "
        "that belong to the eigenvalue 1, found by dividing by almost zero. This library stops at "
        "the rank that there is, and warns.",
    ),
    "quadratic": (
        "Mushrooms, quadratic filter: 70.09 % belongs to a mistyped filter",
        "The published script has the coefficients 1, −2, −1, that is 1 − 2λ − λ², instead of the "
        "stated (1 − λ)². With the mistyped filter the published figure comes out; the stated "
        "one gives what the paper's own L-GCN row says.",
    ),
    "spiral-reduced": (
        "Spiral, R-GCN: the three published figures cannot be reproduced",
        "The stated network on the published points, labels and training nodes is far better than "
        "published, whatever signs the eigenvectors are given. Why, the published files do not "
        "tell. Do not conclude from Table 1 that reduced-order networks fail on points.",
    ),
    "signs": (
        "R-GCN depends on the signs of the eigenvectors",
        "ReLU acts on spectral coefficients, and an eigenvector is as good as its negative; in the "
        "space of a multiple eigenvalue, such as the 15-fold one of the cars, any rotation is as "
        "good. A published R-GCN figure is that of one such choice, which is not published. The "
        "range over random choices is given beside those rows. GCN and L-GCN do not depend on it.",
    ),
    "components": (
        "Zero is not always a simple eigenvalue",
        "With c connected components, isolated nodes included, zero has multiplicity c. Dropping "
        "exactly one eigenpair for the pseudoinverse, as described, is then wrong; this library "
        "finds the components first and drops them all. The paper's three graphs are connected.",
    ),
    "formula": (
        "A sign in section A3.3",
        "It writes a₀I − a₁L for the linear filter where a₀I + a₁L is meant. No figure is affected "
        "by it.",
    ),
    "training": (
        "One training set per dataset",
        "All figures are for one fixed set of ten to twenty nodes. Over random training sets of "
        "the same size the accuracy moves by more than most differences in the tables, so these "
        "tables alone do not rank the methods. For your own data: lowrankgcn compare.",
    ),
    "digits": (
        "Two figures for one experiment",
        "For L-GCN of rank 20 with the pseudoinverse, Table 2 has 91.72 % and the figure of ranks "
        "91.27 %, with the same time: digits were exchanged in one of them.",
    ),
}

ERRATA: dict[str, Erratum] = {
    name: Erratum(number, title, text)
    for number, (name, (title, text)) in enumerate(_LIST.items(), start=1)
}
"""Errata by name, numbered in order."""
