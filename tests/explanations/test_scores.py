"""Every score against scikit-learn's, or its definition; also where there is little to score."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from glassleaf import ModelTreeClassifier, group_scores
from glassleaf.cli.output.scores import all_scores
from glassleaf.explanations import scores


@pytest.fixture(params=["equal weights", "weights", "zero weights"])
def w(request, rng):
    drawn = rng.gamma(1.0, size=200)
    return {
        "equal weights": np.ones(200),
        "weights": drawn,
        "zero weights": np.where(np.arange(200) % 3, drawn, 0.0),
    }[request.param]


def probabilities(rng, n_classes):
    """Targets, and probabilities with ties, some of them 0 and 1, some of these wrong."""
    y = rng.integers(0, n_classes, size=200)
    p = rng.dirichlet(np.ones(n_classes), size=200)
    p[np.arange(200), y] += 0.4
    p = np.round(p / p.sum(axis=1, keepdims=True), 1)
    p[:20] = np.eye(n_classes)[rng.integers(0, n_classes, size=20)]
    return y, p / p.sum(axis=1, keepdims=True)


NUMBERS = [
    (scores.r_squared, metrics.r2_score),
    (scores.root_mean_squared_error, metrics.root_mean_squared_error),
    (scores.mean_absolute_error, metrics.mean_absolute_error),
]


@pytest.mark.parametrize(("ours", "theirs"), NUMBERS, ids=lambda f: f.__name__)
def test_scores_of_numbers(ours, theirs, w, rng):
    y, p = rng.gamma(2.0, size=(2, 200))
    assert ours(y, p, w) == pytest.approx(theirs(y, p, sample_weight=w))


@pytest.mark.parametrize(("loss", "power"), [("poisson", 1), ("gamma", 2)])
def test_deviances(loss, power, w, rng):
    y, p = rng.gamma(2.0, size=(2, 200))
    if loss == "poisson":
        y = np.floor(y)
    theirs = metrics.mean_tweedie_deviance(y, p, power=power, sample_weight=w)
    assert scores.mean_deviance(loss, y, p, w) == pytest.approx(theirs)
    theirs = metrics.d2_tweedie_score(y, p, power=power, sample_weight=w)
    assert scores.explained_deviance(loss, y, p, w) == pytest.approx(theirs)


def test_means(w, rng):
    y, p = rng.gamma(2.0, size=(2, 200))
    assert scores.mean_error(y, p, w) == pytest.approx((w * (p - y)).sum() / w.sum())
    assert scores.ratio_of_means(y, p, w) == pytest.approx((w * p).sum() / (w * y).sum())


def test_the_error_of_a_mean(w, rng):
    y = rng.normal(size=200)
    used = w > 0
    assert scores.error_of_mean(y, w) == pytest.approx(scores.error_of_mean(y[used], w[used]))
    plain = y[used].std(ddof=1) / used.sum() ** 0.5
    assert scores.error_of_mean(y[used], np.ones(used.sum())) == pytest.approx(plain)
    assert np.isnan(scores.error_of_mean(y[:1], np.ones(1)))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_classes(n_classes, w, rng):
    y, p = probabilities(rng, n_classes)
    labels = list(range(n_classes))
    theirs = metrics.log_loss(y, p, sample_weight=w, labels=labels)
    assert scores.log_loss(y, p, w) == pytest.approx(theirs)
    theirs = metrics.accuracy_score(y, p.argmax(axis=1), sample_weight=w)
    assert scores.accuracy(y, p, w) == pytest.approx(theirs)
    # scikit-learn's AUC of several classes takes no weights: one class against the rest, each.
    ranked = [1] if n_classes == 2 else labels
    of_class = [metrics.roc_auc_score(y == k, p[:, k], sample_weight=w) for k in ranked]
    assert scores.auc(y, p, w) == pytest.approx(np.mean(of_class))
    if n_classes == 2:
        theirs = metrics.brier_score_loss(y, p[:, 1], sample_weight=w)
        assert scores.brier(y, p, w) == pytest.approx(theirs)
    else:
        errors = ((p - np.eye(n_classes)[y]) ** 2).sum(axis=1)
        assert scores.brier(y, p, w) == pytest.approx(np.average(errors, weights=w))


@pytest.mark.parametrize("better", ["second", "first"])  # which class has higher probabilities
def test_ks_is_that_of_scipy_and_of_the_roc_curve(better, w, rng):
    y = rng.integers(0, 2, size=200)
    one = rng.normal((y if better == "second" else -y), 2.0).round(1)  # with ties
    p = np.column_stack([-one, one])
    found = scores.kolmogorov_smirnov(y, p, np.ones(200))
    assert found == pytest.approx(stats.ks_2samp(one[y == 0], one[y == 1]).statistic)
    others, hits, _ = metrics.roc_curve(y, one, sample_weight=w, drop_intermediate=False)
    assert scores.kolmogorov_smirnov(y, p, w) == pytest.approx(np.abs(hits - others).max())


def test_gini_is_one_for_a_perfect_and_zero_for_a_random_ranking():
    assert (scores.gini(1.0), scores.gini(0.5)) == (1.0, 0.0)


# --- where there is little to score --------------------------------------------------------------

TWO = np.array([[0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
ONES = np.ones(3)


@pytest.mark.parametrize("only", [0, 1])
@pytest.mark.parametrize("how", ["absent", "of weight zero"])
def test_with_one_class_only_rankings_are_not_defined(only, how):
    y, w = np.full(3, only), ONES
    if how == "of weight zero":
        y, w = np.array([only, only, 1 - only]), np.array([1.0, 1.0, 0.0])
    assert np.isnan(scores.auc(y, TWO, w)) and np.isnan(scores.kolmogorov_smirnov(y, TWO, w))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(metrics.roc_auc_score(y, TWO[:, 1], sample_weight=w))
    theirs = metrics.log_loss(y, TWO, sample_weight=w, labels=[0, 1])
    assert scores.log_loss(y, TWO, w) == pytest.approx(theirs)


def test_a_class_that_does_not_occur_has_no_say_in_the_mean_auc():
    y = np.array([0, 1, 0])
    p = np.array([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.5, 0.4, 0.1]])
    assert scores.auc(y, p, ONES) == 1.0


def test_sure_mistakes_cost_what_they_cost_in_scikit_learn():
    y, p = np.array([0, 1, 1]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    found = scores.log_loss(y, p, ONES)
    assert found == pytest.approx(metrics.log_loss(y, p))
    assert found == pytest.approx(36.04 / 3, rel=1e-3)
    assert scores.log_loss(y[2:], p[2:], ONES[2:]) == pytest.approx(0.0, abs=1e-15)


def test_a_constant_target_has_no_variation_to_explain():
    y, p = np.full(3, 2.0), np.array([1.0, 2.0, 3.0])
    assert np.isnan(scores.r_squared(y, p, ONES))
    for loss in scores.DEVIANCES:
        assert np.isnan(scores.explained_deviance(loss, y, p, ONES))
    assert np.isnan(scores.ratio_of_means(np.zeros(3), p, ONES))


def test_no_rows_have_no_scores():
    nothing = np.zeros(0)
    assert np.isnan(scores.mean(nothing, nothing)) and scores.effective_rows(nothing) == 0.0
    assert np.isnan(scores.mean(ONES, np.zeros(3)))


def test_report_card_and_command_agree(rng):
    X = rng.normal(size=(600, 2))
    y = np.where(X[:, 0] + rng.normal(size=600) > 0, "yes", "no")
    weight = rng.gamma(1.0, size=600)
    model = ModelTreeClassifier(max_depth=1, n_jobs=1).fit(X[:300], y[:300])
    test = X[300:], y[300:]
    of_report = {s.name: s.value for s in model.report(*test, weight[300:]).contents.scores}
    of_command = {s.name: s.value for s in all_scores(model, *test, weight[300:])}
    (group,) = group_scores(
        model, *test, ["all"] * 300, favorable="yes", sample_weight=weight[300:]
    )
    for name, command, card in (
        ("AUC", "AUC", "auc"),
        ("Log loss", "log loss", "log_loss"),
        ("Accuracy", "accuracy", None),
    ):
        assert of_report[name] == pytest.approx(of_command[command])
        assert card is None or group.scores[card] == pytest.approx(of_command[command])
