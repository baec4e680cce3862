"""Explanations: meaning, printed form and saved data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lowrankgcn as lg
from lowrankgcn.estimators.evidence import spread_over
from tests.explanation_problems import QUICK, labelled_cars, parts


@pytest.fixture(scope="module")
def cars() -> tuple[lg.GCNClassifier, pd.DataFrame]:
    rows, y = labelled_cars()
    return lg.GCNClassifier(random_state=0).fit(rows, y), rows


@pytest.fixture(scope="module")
def spiral() -> tuple[lg.GCNClassifier, np.ndarray]:
    data = lg.datasets.load_spiral(200, random_state=0)
    y = np.full(1000, -1)
    y[::50] = data.target[::50]
    return lg.GCNClassifier(random_state=0).fit(data.data, y), data.data


# --- exactness --------------------------------------------------------------------------------


def test_the_target_column_has_the_largest_contribution(cars: Any) -> None:
    classifier, rows = cars
    explanation = classifier.explain(rows)
    first = [row.contributions[0] for row in explanation]
    assert np.mean([one.name == "buying" and one.amount > 0 for one in first]) > 0.95
    # Mostly the value is the class itself.
    assert (
        np.mean([one.value == row.predicted for one, row in zip(first, explanation, strict=True)])
        > 0.9
    )


def test_changing_a_contributing_value_changes_the_class(cars: Any) -> None:
    classifier, rows = cars
    row = rows.iloc[[0]].copy()
    before = classifier.explain(row)[0]
    row["buying"] = pd.Categorical(["low"], rows["buying"].cat.categories) if isinstance(
        rows["buying"].dtype, pd.CategoricalDtype
    ) else "low"  # fmt: skip
    after = classifier.explain(row)[0]
    assert (before.predicted, after.predicted) == ("vhigh", "low")
    assert before.contributions[0].value == "vhigh" and after.contributions[0].value == "low"


def test_labelled_rows_contribute_to_their_own_class(spiral: Any) -> None:
    classifier, rows = spiral
    explanation = classifier.explain(rows)
    assert explanation.by == "rows"
    strongest = [max(row.contributions, key=lambda one: one.amount) for row in explanation]
    own = [one.value == row.predicted for one, row in zip(strongest, explanation, strict=True)]
    assert np.mean(own) > 0.95
    labelled = set(range(0, 1000, 50))
    assert all(one.name in labelled and one.kind == "row" for one in strongest)
    # Most of what pulls to the class comes from its labels, and little is left unexplained.
    pull = [
        sum(
            one.amount for one in row.contributions if one.amount > 0 and one.value == row.predicted
        )
        / sum(one.amount for one in row.contributions if one.amount > 0)
        for row in explanation
    ]
    assert np.median(pull) > 0.8
    assert np.median([abs(row.remainder) / abs(row.margin) for row in explanation]) < 0.25


# --- handling ---------------------------------------------------------------------------------


def test_unknown_and_missing_values_are_named(cars: Any) -> None:
    classifier, rows = cars
    row = rows.iloc[[5]].astype(object)
    row["buying"], row["safety"] = "priceless", None
    explained = classifier.explain(row)[0]
    values = {one.name: one.value for one in explained.contributions}
    assert values["buying"] == "priceless (not seen at fitting)" and values["safety"] == "missing"
    assert parts(explained) == pytest.approx(explained.margin, abs=1e-9)


def test_numbers_show_the_cell_and_its_bin() -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"size": generator.normal(size=60).round(2), "kind": list("abc") * 20})
    y = np.where(np.arange(60) < 40, np.where(frame["size"] > 0, "big", "small"), "")
    classifier = lg.GCNClassifier(**QUICK).fit(frame, y)
    row = classifier.explain(frame.iloc[[50]])[0]
    first = row.contributions[0]
    assert first.name == "size" and first.amount > 0
    assert first.value.startswith(f"{frame['size'][50]} in (")


def test_rows_without_affinity_have_no_contributions(cars: Any) -> None:
    classifier, rows = cars
    unknown = rows.iloc[[0]].astype(object)
    unknown.iloc[0] = "?"
    explanation = classifier.explain(unknown)
    assert not explanation[0].placed and explanation[0].contributions == ()
    assert explanation[0].probability == 0.25
    assert str(explanation) == (
        "row 0: no affinity to any labelled part of the graph, no class"
    )  # fmt: skip
    assert explanation.to_frame().empty


def test_points_cannot_be_explained_by_values(spiral: Any) -> None:
    classifier, rows = spiral
    with pytest.raises(ValueError, match="by: expected 'rows': the graph has no hyperedges"):
        classifier.explain(rows[:1], by="values")
    with pytest.raises(ValueError, match="by: expected one of 'auto', 'values', 'rows'"):
        classifier.explain(rows[:1], by="columns")
    with pytest.raises(ValueError, match="features"):
        classifier.explain(rows[:1, :2])


def test_explanations_of_a_loaded_classifier(cars: Any, spiral: Any, tmp_path: Path) -> None:
    for name, (classifier, rows) in {"cars": cars, "spiral": spiral}.items():
        lg.save(classifier, tmp_path / name)
        loaded = lg.load(tmp_path / name)
        some = rows[::100]
        assert loaded.explain(some) == classifier.explain(some)
        assert loaded.explain(some, by="rows") == classifier.explain(some, by="rows")
        lg.save(classifier, tmp_path / name, fitted_rows=False)
        lean = lg.load(tmp_path / name)
        if name == "cars":
            assert lean.explain(some) == classifier.explain(some)
        with pytest.raises(ValueError, match="saved with fitted_rows=True"):
            lean.explain(some, by="rows")
        lg.save(loaded, tmp_path / name)
        assert lg.load(tmp_path / name).explain(some) == classifier.explain(some)


def test_rows_are_explained_independently_of_each_other(cars: Any, spiral: Any) -> None:
    for classifier, rows in (cars, spiral):
        some = rows[:40]
        for by in ("auto", "rows"):
            together = classifier.explain(some, by=by)
            alone = classifier.explain(some[7:8], by=by)[0]
            assert together[7].margin == pytest.approx(alone.margin, rel=1e-12)
            for one, other in zip(together[7].contributions, alone.contributions, strict=True):
                assert one.amount == pytest.approx(other.amount, rel=1e-9, abs=1e-12)


def test_prints_and_frames(cars: Any) -> None:
    classifier, rows = cars
    explanation = classifier.explain(rows.iloc[:2])
    lines = str(explanation).splitlines()
    assert lines[0].startswith("row 0: vhigh (") and " rather than " in lines[0]
    assert len(lines) == 2 * (1 + 6 + 1)
    few = explanation[0].lines(explanation.by, top=2, first=1)
    assert few[0].startswith("row 1: ") and "4 others" in few[3]
    one_left = explanation[0].lines(explanation.by, top=5)
    assert one_left[6].endswith("  1 other")
    frame = explanation.to_frame()
    assert list(frame.columns) == [
        "row", "predicted", "probability", "runner_up", "margin", "kind", "name", "value", "amount",
    ]  # fmt: skip
    assert len(frame) == 2 * 8 and set(frame["kind"]) == {"value", "baseline", "remainder"}
    with pytest.raises(AttributeError):
        explanation[0].margin = 0.0


@pytest.mark.parametrize(
    ("first", "said"),
    [("2024-05-01", "2024-05-01 in "), ("2024-05-01 06:30", "2024-05-01 06:30:00")],
)
def test_days_are_shown_without_a_time(first: str, said: str) -> None:
    days = pd.date_range(first, periods=40)
    frame = pd.DataFrame({"seen": days, "colour": ["red"] * 20 + ["blue"] * 20})
    classifier = lg.GCNClassifier(architecture="reduced", filter="linear", random_state=0)
    classifier.fit(frame, ["a", *[None] * 38, "b"])
    values = {part.name: part.value for part in classifier.explain(frame.head(1))[0].contributions}
    assert values["seen"].startswith(said)


def test_at_most_a_thousand_labelled_rows_are_kept() -> None:
    codes = np.repeat([0, 1, 2], [3000, 1500, 5])
    chosen = spread_over(codes, 1000)
    assert len(chosen) == len(set(chosen)) == 1000
    assert np.bincount(codes[chosen]).tolist()[2] >= 1
    assert spread_over(codes[:7], 1000).tolist() == list(range(7))


def test_evidence_that_does_not_fit_the_model_is_refused(cars: Any) -> None:
    classifier, _ = cars
    evidence, model = classifier._evidence, classifier._model
    evidence.check(model)
    rows = evidence.labelled
    damaged = {
        "responses": [
            {"responses": ()},
            {"responses": (None,) * len(model.networks)},
            {"responses": (np.zeros(3),) * len(model.networks)},
            {"responses": tuple(-np.ones_like(part) for part in evidence.responses)},
        ],
        "average": [{"average": np.zeros(3)}],
        "index": [
            {"labelled": lambda: replace(rows, index=np.zeros((2, 2), np.int64))},
            {"labelled": lambda: replace(rows, index=np.full(20, -1))},
        ],
        "codes": [
            {"labelled": lambda: replace(rows, codes=np.full(20, 4))},
            {"labelled": lambda: replace(rows, codes=np.full(3, 0))},
        ],
        "extended": [{"labelled": lambda: replace(rows, extended=np.zeros((20, 2)))}],
        "features": [{"labelled": lambda: replace(rows, features=np.zeros((20, 3)))}],
    }
    for name, cases in damaged.items():
        for changes in cases:
            with pytest.raises(ValueError, match=f"{name}: expected"):
                made = {key: part() if callable(part) else part for key, part in changes.items()}
                replace(evidence, **made).check(model)
