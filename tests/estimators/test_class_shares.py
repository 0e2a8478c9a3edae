"""Probabilities after class_weight: what is said of them, and how they are corrected."""

import numpy as np
import pytest

from glassleaf import ModelTreeClassifier, load


def rows(rng, n=6000):
    X = rng.normal(size=(n, 3))
    score = np.where(X[:, 0] > 0, 1.5 * X[:, 1], -X[:, 1]) - 3.2
    return X, np.where(score + rng.logistic(size=n) > 0, "rare", "usual")


@pytest.mark.parametrize("parameters", [{}, {"max_numbers": None}, {"positive_class": "rare"}])
def test_probabilities_are_corrected_to_those_of_rows_as_they_come(rng, parameters):
    X, y = rows(rng)
    plain = ModelTreeClassifier(**parameters).fit(X, y)
    weighted = ModelTreeClassifier(class_weight="balanced", **parameters).fit(X, y)
    share = (y == "rare").mean()
    assert weighted.predict_proba(X)[:, 0].mean() > 4 * share
    corrected = weighted.with_class_shares({"usual": 1 - share, "rare": share})
    assert corrected.predict_proba(X)[:, 0].mean() == pytest.approx(share, rel=0.1)
    log_odds = [np.log(p[:, 0] / p[:, 1]) for p in map(ModelTreeClassifier.predict_proba,
                (plain, corrected), (X, X))]  # fmt: skip
    assert np.corrcoef(log_odds)[0, 1] > 0.9
    again = corrected.with_class_shares({"usual": 1, "rare": 1})
    np.testing.assert_allclose(again.predict_proba(X), weighted.predict_proba(X), rtol=1e-9)


def test_the_shift_is_that_of_the_odds_in_every_leaf_and_step(rng, tmp_path):
    X, y = rows(rng)
    model = ModelTreeClassifier(class_weight={"rare": 5.0, "usual": 1.0}).fit(X, y)
    count = {label: int((y == label).sum()) for label in ("rare", "usual")}
    corrected = model.with_class_shares(count)
    shift = model.decision_function(X) - corrected.decision_function(X)
    np.testing.assert_allclose(shift, -np.log(5.0))  # the score is that of the usual class
    step = corrected.path_[1].numbers
    np.testing.assert_allclose(
        corrected.at(numbers=step).decision_function(X),
        model.at(numbers=step).decision_function(X) + np.log(5.0),
    )
    corrected.save(tmp_path / "model.json")
    np.testing.assert_array_equal(
        load(tmp_path / "model.json").predict_proba(X), corrected.predict_proba(X)
    )


def test_several_classes(rng):
    X, y = rows(rng)
    y = np.where(X[:, 2] > 1, "other", y)
    names, counts = np.unique(y, return_counts=True)
    model = ModelTreeClassifier(class_weight="balanced", max_depth=1).fit(X, y)
    corrected = model.with_class_shares(dict(zip(names.tolist(), counts.tolist(), strict=True)))
    np.testing.assert_allclose(corrected.predict_proba(X).mean(axis=0), counts / len(y), rtol=0.15)
    ratio = corrected.predict_proba(X) / model.predict_proba(X) / counts
    np.testing.assert_allclose(ratio / ratio[:, :1], 1.0)


def test_texts_say_whose_probabilities_these_are(rng):
    X, y = rows(rng)
    model = ModelTreeClassifier(class_weight="balanced", max_depth=1).fit(X, y)
    said = "Probabilities are those of rows weighted by class_weight (usual 50%)"
    assert said in model.export_text()
    corrected = model.with_class_shares({"usual": 0.9, "rare": 0.1})
    assert "class_weight (usual 90%)" in corrected.export_text()
    assert "class_weight" not in ModelTreeClassifier(max_depth=1).fit(X, y).export_text()


def test_what_is_no_share_is_refused(rng):
    X, y = rows(rng, 500)
    model = ModelTreeClassifier(max_depth=0).fit(X, y)
    for given, error in (
        ({"rare": 0.1}, ValueError),
        ({"rare": 0.0, "usual": 1.0}, ValueError),
        ({"rare": "much", "usual": 1.0}, TypeError),
        ([0.1, 0.9], TypeError),
    ):
        with pytest.raises(error, match="shares="):
            model.with_class_shares(given)
