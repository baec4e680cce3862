"""Columns of free text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

import lowrankgcn as lg
from lowrankgcn.files import choose_columns
from lowrankgcn.tables import Cells, text_vectors
from lowrankgcn.tables.text_vectors import TextVectors, is_free_text
from lowrankgcn.tables.texts import TextColumn

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


def cosines(*texts: Any, fitted: Any = None) -> np.ndarray:
    """Return cosines of the vectors of texts."""
    column = cells(*texts)
    vectors = (fitted or TextVectors.fit(column)).read(column).numbers
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors @ vectors.T / np.maximum(norms @ norms.T, 1e-30)


class TestVectors:
    def test_similar_texts_are_near(self) -> None:
        texts = reviews(200)["review"].tolist()
        fitted = TextVectors.fit(cells(*texts))
        assert fitted is not None and fitted.basis.shape[1] == 64
        C = cosines("superb story", "SUPERB, stories!", "weak plot", fitted=fitted)
        assert C[0, 1] > 0.6 > 0.3 > C[0, 2]

    def test_letters_of_any_script(self) -> None:
        texts = ("STRASSE und ÉTÉ", "straße, E\u0301te\u0301", "мир да", "МИР ДА")
        C = cosines(*texts)
        assert C[2, 3] > 0.999 and C[0, 1] > 0.5 and abs(C[0, 2]) < 1e-6

    def test_as_scikit_learn(self) -> None:
        """Tf-idf and a truncated singular value decomposition, up to rotation."""
        texts = [text.lower() for text in reviews(120)["review"]]
        grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), sublinear_tf=True, min_df=2)
        X = grams.fit_transform(texts)
        U, s, _ = np.linalg.svd(X.toarray(), full_matrices=False)
        expected = U[:, :64] * s[:64]
        column = cells(*texts)
        fitted = TextVectors.fit(column)
        assert set(fitted.grams) == set(grams.get_feature_names_out())
        vectors = fitted.read(column).numbers
        np.testing.assert_allclose(vectors @ vectors.T, expected @ expected.T, atol=1e-5)

    def test_order_of_rows_does_not_matter(self) -> None:
        texts = reviews(150)["review"].to_numpy(object)
        order = np.random.default_rng(0).permutation(150)
        first, second = (TextVectors.fit(cells(*part)) for part in (texts, texts[order]))
        vectors = [one.read(cells(*texts)).numbers for one in (first, second)]
        np.testing.assert_allclose(*vectors, atol=1e-5)

    def test_limits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        column = cells(*reviews(300)["review"])
        monkeypatch.setattr(text_vectors, "_MOST_CELLS", 300 * 40)
        monkeypatch.setattr(text_vectors, "_MOST_GRAMS", 50)
        monkeypatch.setattr(text_vectors, "_CHUNK", 70)
        fitted = TextVectors.fit(column)
        assert fitted.basis.shape == (50, 40)
        assert np.isfinite(fitted.read(column).numbers).all()

    def test_new_and_missing_cells(self) -> None:
        fitted = TextVectors.fit(cells(*reviews(50)["review"]))
        new = fitted.read(cells(None, "xyzzy", "", "great fun"))
        assert new.missing.tolist() == [True, False, False, False]
        assert not new.numbers[:3].any() and new.numbers[3].any()
        assert TextVectors.fit(cells("abc def", "xyz uvw")) is None


class TestColumns:
    def test_features(self) -> None:
        frame = reviews(200)
        columns = choose_columns(frame, "kind", drop=["truth"])
        assert columns.used == {"number": "number", "review": "text"}
        features = columns.features(frame)
        assert features.names == ("number", "review")
        assert features["review"].kind == "vector"

    def test_options(self) -> None:
        frame = reviews(200).assign(short=["yes, fine", "no", "so so", "fine"] * 50)
        for option, kind in (("categorical", "category"), ("drop", None), ("text", "text")):
            columns = choose_columns(frame, "kind", **{option: ["review"]})
            assert columns.used.get("review") == kind
        assert choose_columns(frame, "kind").used["short"] == "category"
        columns = choose_columns(frame, "kind", text=["short"])
        assert " no " in columns.texts["short"].grams
        with pytest.raises(ValueError, match="text: expected columns not named in drop"):
            choose_columns(frame, "kind", drop=["review"], text=["review"])
        with pytest.raises(ValueError, match="text: expected a column of the table, got 'reviw'"):
            choose_columns(frame, "kind", text=["reviw"])
        with pytest.raises(ValueError, match="'truth': expected words that are alike in several"):
            choose_columns(frame[:3].assign(truth=["a b", "c d", "e f"]), "kind", text=["truth"])

    def test_explanation_of_one_row(self) -> None:
        frame = reviews(200)
        columns = choose_columns(frame, "kind", drop=["truth"])
        features = columns.features(frame)
        classifier = lg.SpectralGPClassifier(random_state=0).fit(features, columns.labels(frame))
        why = classifier.explain(features.take([0]))[0]
        total = why.baseline + sum(part.amount for part in why.contributions)
        assert abs(total - why.log_odds) < 1e-9
        named = {part.name for part in why.contributions if part.kind == "column"}
        assert named == {"number", "review"}
        near = next(part.value for part in why.contributions if part.name == "review")
        assert list(near.classes) == frame["kind"][list(near.rows)].tolist()
        assert "review like that of labelled rows" in "\n".join(why.lines("columns"))

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


def test_texts_of_low_rank_give_the_same_vectors_each_time() -> None:
    """Texts of the same words in another order have equal rows."""
    generator = np.random.default_rng(0)
    texts = {" ".join(generator.permutation(NOUNS[k : k + 5])) for k in range(5) for _ in range(60)}
    column = cells(*sorted(texts))
    first, second = (TextVectors.fit(column) for _ in range(2))
    assert first is not None and second is not None and len(column.values) > 200
    np.testing.assert_allclose(first.basis, second.basis, atol=1e-6)


def test_vectors_that_are_fitted_later_are_the_same() -> None:
    frame = reviews(200).drop(columns=["truth"])
    frame["odd"] = [f"{chr(0x4E00 + k)} {chr(0x5E00 + k)} {chr(0x6E00 + k)}" for k in range(200)]
    at_once = choose_columns(frame, "kind")
    later = choose_columns(frame, "kind", fit_texts=False)
    assert later.used == at_once.used and later.left_out == at_once.left_out
    assert later.without_texts().features(frame).names == ("number",)
    tables = [columns.features(frame) for columns in (at_once, later.with_texts(frame))]
    np.testing.assert_allclose(tables[0]["review"].numbers, tables[1]["review"].numbers, atol=1e-6)


def test_a_sentence_makes_a_column_no_numbers() -> None:
    sentence = "there is no value in this cell today"
    for others, kind in ((["1", "2", "3.5"], "number"), (["2024-01-01", "2024-05-01"], "date")):
        assert TextColumn(cells(*others)).kind == kind
        assert TextColumn(cells(sentence, *others)).kind == "category"
        assert TextColumn(cells(*others, sentence)).parsed("number")[2] is not None
