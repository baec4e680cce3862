"""Columns of free text."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lowrankgcn as lg
from lowrankgcn.files import choose_columns
from lowrankgcn.tables import Cells, words
from lowrankgcn.tables.texts import TextColumn
from lowrankgcn.tables.words import find_words, is_free_text, word_columns

NOUNS = "film plot actor scene music story camera ending script role".split()
GOOD = "great lovely fine superb brilliant charming".split()
BAD = "poor awful dull boring weak terrible".split()


def cells(*texts: Any) -> Cells:
    return Cells.read(pd.Series(texts), "x")


def reviews(n: int, seed: int = 0) -> pd.DataFrame:
    """Reviews of two kinds, a number that does not matter, and few labels."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 2, n)
    texts = []
    for kind in kinds:
        words = [*rng.choice((GOOD, BAD)[kind], 2), *rng.choice(NOUNS, 4), str(rng.integers(n))]
        texts.append(" ".join(rng.permutation(words)).capitalize() + ".")
    labels = np.array(["good", "bad"], dtype=object)[kinds]
    frame = pd.DataFrame({"number": rng.normal(size=n), "review": texts, "truth": labels})
    frame["kind"] = frame["truth"].where(frame.index < 40)
    return frame


def is_text(column: Cells) -> bool:
    return TextColumn(column).kind == "category" and is_free_text(column)


class TestDetection:
    def test_texts(self) -> None:
        assert is_text(cells("a good film", "not so good, really", None))
        assert is_text(cells("Braund, Mr. Owen", "Heikkinen, Miss Laina", "Allen, Mr. William"))

    def test_other_columns(self) -> None:
        for values in (
            ("red", "blue", "green"),
            ("a good film", "a good film", "a bad film", "a bad film"),  # categories
            ("550e8400-e29b-41d4-a716-446655440000", "c9bf9e57-1685-4c89-bafb-ff5af830be8a"),
            ("https://example.org/a/b/c", "https://example.org/a/b/d"),
            ("two words", "three words here", "two again"),
            ("2024-01-01 10:00:00", "2024-01-02 10:00:00"),
            (1.5, 2.5),
            (True, False),
            (None, None),
        ):
            assert not is_text(cells(*values)), values


class TestWords:
    def test_frequent_words_first(self) -> None:
        texts = ("bb cc xx", "BB! dd xx", "(bb) cc xx", "dd ee xx", "ff xx", "hh xx", "i i x")
        assert find_words(cells(*texts)) == ("bb", "cc", "dd")  # not "xx", in most rows, nor "ee"

    def test_limits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        vocabulary = ["".join(letters) for letters in itertools.product("abcdefgh", repeat=3)]
        texts = [f"{word} one{k} two{k}" for k, word in enumerate(vocabulary)]
        twice = cells(*texts, *(f"{text}!" for text in texts), "", None)
        found = find_words(twice)
        assert len(found) == 200
        assert found[:3] == ("aaa", "aab", "aac")  # equally frequent: in the order of the alphabet
        assert find_words(cells(*texts)) == ()
        monkeypatch.setattr(words, "_MOST_CELLS", 1026 * 60)
        assert find_words(twice) == found[:60]
        monkeypatch.setattr(words, "_MOST_CELLS", 1026)
        assert find_words(twice) == found[:50]

    def test_rows_count_not_texts(self) -> None:
        assert find_words(cells("one word", "one word", "other text", "more of it", None)) == (
            "one",
            "word",
        )

    def test_letters_of_any_script(self) -> None:
        texts = ("STRASSE und ÉTÉ", "straße, E\u0301te\u0301!", "мир да", "МИР-нет", "x", "y", "z")
        found = find_words(cells(*texts))
        assert set(found) == {"strasse", "été", "мир"}
        columns = word_columns(cells(*texts), found)
        assert columns["мир"].texts() == ["False"] * 2 + ["True"] * 2 + ["False"] * 3

    def test_new_and_missing_cells(self) -> None:
        columns = word_columns(cells(None, "Great! never seen", "", "great-great"), ("great", "x"))
        assert columns["great"].texts() == ["False", "True", "False", "True"]
        assert columns["x"].values == [False]
        assert word_columns(cells(None, None), ("great",))["great"].values == [False]


class TestColumns:
    def test_features(self) -> None:
        frame = reviews(200)
        columns = choose_columns(frame, "kind", drop=["truth"])
        assert columns.used == {"number": "number", "review": "text"}
        found = columns.words["review"]
        assert {*NOUNS, *GOOD, *BAD} <= set(found)
        features = columns.features(frame)
        assert list(features.names) == ["number", *(f"review: {word}" for word in found)]
        sums = columns.column_sums(dict.fromkeys(features.names, 1.0))
        assert sums == {"review": len(found), "number": 1.0}
        expected = frame["review"].str.lower().str.contains("great")
        assert features["review: great"].texts() == expected.astype(str).tolist()
        new = pd.DataFrame({"number": [1.0], "review": ["Great, but unheard-of"]})
        found = [name for name, own in columns.features(new).items() if own.values == [True]]
        assert found == ["review: great"]

    def test_options(self) -> None:
        frame = reviews(200).assign(short=["yes, fine", "no", "so so", "fine"] * 50)
        for option, kind in (("categorical", "category"), ("drop", None), ("text", "text")):
            columns = choose_columns(frame, "kind", **{option: ["review"]})
            assert columns.used.get("review") == kind
        assert choose_columns(frame, "kind").used["short"] == "category"
        columns = choose_columns(frame, "kind", text=["short"])
        assert columns.words["short"] == ("fine", "no", "so", "yes")
        with pytest.raises(ValueError, match="text: expected columns not named in drop"):
            choose_columns(frame, "kind", drop=["review"], text=["review"])
        with pytest.raises(ValueError, match="text: expected a column of the table, got 'reviw'"):
            choose_columns(frame, "kind", text=["reviw"])
        with pytest.raises(ValueError, match="'truth': expected words that occur in several"):
            choose_columns(frame[:3].assign(truth=["a b", "c d", "e f"]), "kind", text=["truth"])

    def test_texts_without_common_words_are_identifiers(self) -> None:
        frame = reviews(100)[["number", "kind"]]
        frame["name"] = [f"a{k} b{k} c{k}" for k in range(100)]
        assert choose_columns(frame, "kind").left_out == {"name": "identifier"}

    def test_names_of_features_are_unique(self) -> None:
        frame = reviews(200).rename(columns={"number": "review: great"})
        columns = choose_columns(frame, "kind")
        features = columns.features(frame)
        assert "great" not in columns.words["review"]
        assert features["review: great"].numbers.tolist() == frame["review: great"].tolist()

    def test_explanation_of_one_row(self) -> None:
        frame = reviews(200)
        columns = choose_columns(frame, "kind", drop=["truth"])
        features = columns.features(frame)
        assert features.shape[1] > 64
        classifier = lg.SpectralGPClassifier(random_state=0).fit(features, columns.labels(frame))
        why = classifier.explain(features.take([0]))[0]
        total = why.baseline + sum(part.amount for part in why.contributions)
        assert abs(total - why.log_odds) < 1e-9
        named = {part.name for part in why.contributions if part.kind == "column"}
        assert named <= set(features.names)

    def test_texts_help(self) -> None:
        frame = reviews(400)
        hidden = frame["kind"].isna()
        scores = {}
        for drop in ([], ["review"]):
            columns = choose_columns(frame, "kind", drop=["truth", *drop])
            classifier = lg.SpectralGPClassifier(random_state=0)
            classifier.fit(columns.features(frame), columns.labels(frame))
            right = classifier.transduction_ == frame["truth"]
            scores[bool(drop)] = right[hidden].mean()
        assert scores[True] < 0.6
        assert scores[False] > 0.9
