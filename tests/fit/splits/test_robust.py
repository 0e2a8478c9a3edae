"""The robust test of splits: against plain loops, its formulas by simulation, groups, its level."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from benchmarks.split_level import LEVEL, POWER, finds_instability, share_of_runs
from glassleaf import explain, load
from glassleaf.fit.splits.chance import best_of_all, best_of_borders, upper_tail
from glassleaf.fit.splits.robust import _together
from glassleaf.rows import passes as on_rows

PLAIN = {"curves": False, "leaf_transform": "none", "clamp": False, "max_depth": 1, "n_jobs": 1}
ALPHA = 3.0


# --- plain loops ---------------------------------------------------------------------------------


def outer_sum(vectors):
    return sum(np.outer(own, own) for own in vectors)


def slow_p_value(design, residual, curvature, weight, left, group, alpha=ALPHA):
    """The test of one split from its definition; columns are standardized, the constant last."""
    score = weight[:, None] * residual[:, None] * design
    hessian = [(design[s] * (weight * curvature)[s, None]).T @ design[s] for s in (left, ~left)]
    whole = hessian[0] + hessian[1]
    shared = hessian[0] @ np.linalg.inv(whole)
    difference = score[left].sum(axis=0) - shared @ score.sum(axis=0)
    ridge = alpha * np.diag(np.arange(len(whole)) < len(whole) - 1)
    metric = np.linalg.inv(hessian[0] - shared @ hessian[0] + ridge)
    vectors = np.zeros((group.max() + 1, len(whole)))
    for own, sign in ((left, 1), (~left, -1)):
        h = hessian[0] if sign == 1 else hessian[1]
        inverse = np.linalg.inv(h + np.diag(np.diag(h)))
        step = -inverse @ score[own].sum(axis=0)
        taken = inverse @ h
        count = len(set(group[own]))
        factor = np.sqrt(count / (count - 2 * np.trace(taken) + np.trace(taken @ taken)))
        carry = np.eye(len(whole)) - shared if sign == 1 else -shared
        for i in np.flatnonzero(own):
            left_over = residual[i] + design[i] @ step  # of a squared loss
            vectors[group[i]] += factor * carry @ (weight[i] * left_over * design[i])
    root = np.linalg.cholesky(metric)
    variances, axes = np.linalg.eigh(root.T @ outer_sum(vectors) @ root)
    unit = np.maximum(variances, 10 * np.median(variances))
    return ((axes.T @ root.T @ difference) ** 2 / unit).sum(), variances / unit


@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_p_values_are_those_of_plain_loops(rng, weighted, grouped):
    n = 240
    X = rng.normal(size=(n, 3))
    X[:, 0] = rng.integers(0, 4, n)
    y = 2 + X[:, 1] + 0.2 * (X[:, 0] - 1.5) * X[:, 2] + rng.normal(size=n) * np.exp(X[:, 1] / 2)
    weight = rng.uniform(0.5, 3, n) if weighted else np.ones(n)
    group = rng.integers(0, 90, n) if grouped else np.arange(n)
    _, group = np.unique(group, return_inverse=True)
    given = {"alpha": ALPHA, "split_features": [0], "significance": 0.999, "rescore": 0}
    model = ModelTreeRegressor(**given, **PLAIN)
    tree = model.fit(X, y, weight, groups=group if grouped else None).tree_
    assert tree.node_count == 3
    residual = X @ tree.coef[0] + tree.intercept[0] - y
    center = np.average(X, axis=0, weights=weight)
    spread = np.sqrt(np.average((X - center) ** 2, axis=0, weights=weight))
    design = np.column_stack([(X - center) / spread, np.ones(n)])
    left = model.apply(X) == tree.left[0]
    found = slow_p_value(design, residual, np.ones(n), weight, left, group)
    share = weight[left].sum() / weight.sum()
    expected = best_of_all(*found, share, n_splits=3, n_paths=1, n_columns=1)
    assert 0 < expected < 0.9
    np.testing.assert_allclose(tree.record.p_value[0], expected, rtol=1e-6)


def test_gradients_beyond_all_numbers_say_nothing(rng, monkeypatch):
    X, ((kind, y), *_) = kinds(rng, 200)
    found = on_rows.Scatter(np.full((1, 10, 10), np.inf), np.zeros((1, 1)), np.full(2, 100.0))
    monkeypatch.setattr(on_rows, "row_scatter", lambda rows, task: found)
    model = kind(**PLAIN).fit(X, y)
    assert model.get_n_leaves() == 1 and model.tree_.record.p_value[0] == 1.0


# --- groups --------------------------------------------------------------------------------------


def kinds(rng, n):
    X = rng.normal(size=(n, 4))
    X[:, 3] = rng.integers(0, 3, n)
    y = X[:, 0] + 0.4 * X[:, 3] * X[:, 2] + rng.normal(size=n)
    classes = np.digitize(y, [-0.5, 0.7])
    return X, [
        (ModelTreeRegressor, y),
        (ModelTreeClassifier, y > 0),
        (ModelTreeClassifier, classes),
    ]


def p_value(kind, *given, **fitted):
    model = kind(alpha=1.0, split_features=[3], **PLAIN).fit(*given, **fitted)
    return model.tree_.record.p_value[0]


def test_a_group_for_every_row_changes_nothing(rng):
    X, targets = kinds(rng, 300)
    for kind, y in targets:
        label = rng.permutation([f"subject {k}" for k in range(300)])
        found = p_value(kind, X, y, groups=label)
        np.testing.assert_allclose(found, p_value(kind, X, y), rtol=1e-9)


def test_copies_of_a_row_in_one_group_are_a_row_with_that_weight(rng):
    X, targets = kinds(rng, 300)
    times = rng.integers(1, 4, 300)
    rows = rng.permutation(np.repeat(np.arange(300), times))
    for kind, y in targets:
        copied = p_value(kind, X[rows], y[rows], groups=rows)
        np.testing.assert_allclose(copied, p_value(kind, X, y, times.astype(float)), rtol=1e-9)


def test_a_column_of_groups_is_no_feature(rng):
    X, ((kind, y), *_) = kinds(rng, 300)
    group = rng.integers(0, 100, 300)
    table = pd.DataFrame(X, columns=list("abcd")).assign(who=group)
    named = kind(**PLAIN).fit(table, y, groups="who").tree_
    given = kind(**PLAIN).fit(X, y, groups=group).tree_
    np.testing.assert_allclose(named.record.p_value, given.record.p_value, rtol=1e-9)
    np.testing.assert_allclose(named.coef[:, :4], given.coef, rtol=1e-9)


def test_rows_without_weight_leave_no_gap_among_groups(rng):
    X, ((kind, y), *_) = kinds(rng, 300)
    used, group = rng.random(300) < 0.5, 1000 - np.arange(300) // 2
    given = {"max_leaf_nodes": "auto", "n_jobs": 1}
    weighted = kind(**given).fit(X, y, used.astype(float), groups=group).tree_
    dropped = kind(**given).fit(X[used], y[used], groups=group[used]).tree_
    assert weighted == dropped


def test_groups_that_do_not_fit_are_refused(rng):
    X, ((kind, y), *_) = kinds(rng, 30)
    with pytest.raises(ValueError, match=r"groups has the shape \(29,\), but X has 30 rows"):
        kind().fit(X, y, groups=np.arange(29))
    with pytest.raises(ValueError, match="groups is missing for 1 row"):
        kind().fit(X, y, groups=[None, *range(29)])
    with pytest.raises(ValueError, match="X has no column names"):
        kind().fit(X, y, groups="who")


# --- what is kept --------------------------------------------------------------------------------


def test_splits_and_refused_splits_have_a_p_value_everywhere(rng, tmp_path):
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=["age", "dose", "noise"])
    y = np.sign(X["age"]) * X["dose"] + rng.normal(size=600)
    model = ModelTreeRegressor(curves=False).fit(X, y)
    record = model.tree_.record
    assert record.p_value[0] < 1e-9 and record.refused[0] == -1
    leaves = np.flatnonzero(model.tree_.left < 0)
    assert (record.p_value[leaves] > 0.05).all() and (record.refused[leaves] >= 0).all()
    text = model.export_text()
    assert ", p < 0.001)" in text and "may be chance (p = " in text
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").tree_ == model.tree_
    root, leaf = explain(model).nodes[0], explain(model).leaves[0]
    assert root.split.p_value == record.p_value[0] and root.refused is None
    assert leaf.refused.feature in X and leaf.refused.p_value == record.p_value[leaf.id]


def test_without_a_test_there_is_no_p_value(rng):
    X, ((kind, y), *_) = kinds(rng, 100)
    model = kind(significance=None, **PLAIN).fit(X, y)
    assert np.isnan(model.tree_.record.p_value).all()
    assert "p = " not in model.export_text() and explain(model).nodes[0].split.p_value is None


# --- the formulas --------------------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [1, 2, 7, 60])
def test_with_equal_weights_the_tail_is_that_of_chi_squared(degrees):
    for p in (0.2, 1e-2, 1e-4, 1e-9):
        value = chi2.isf(p, degrees)
        tail, density = upper_tail(3 * value, np.full(degrees, 3.0))
        # Up to Stirling's approximation of the gamma function, which is on the safe side.
        assert 0.999 * p < tail < (1 + 0.2 / degrees) * p
        assert density == pytest.approx(chi2.pdf(value, degrees) / 3, rel=0.2 / degrees)


def test_with_unequal_weights_the_tail_is_that_of_a_simulation(rng):
    weights = np.array([10.0, 2.0, 1.0, 1.0, 0.3, 1e-14, 0.0])
    drawn = (rng.normal(size=(1_000_000, 7)) ** 2) @ weights
    for share in (0.2, 0.01, 1e-4):
        tail, _ = upper_tail(np.quantile(drawn, 1 - share), weights)
        assert 0.95 * share < tail < 1.25 * share


def test_at_the_mean_and_without_spread_a_test_says_nothing_or_all():
    assert upper_tail(3.0, np.ones(3)) == (1.0, 0.0)
    assert upper_tail(0.0, np.zeros(0)) == (1.0, 0.0)
    assert upper_tail(2.0, np.zeros(3)) == (0.0, 0.0)
    assert best_of_all(1.0, np.ones(3), 0.5, 10, 1, 5) == 1.0


@pytest.mark.parametrize("weights", [[1.0], [1.0] * 5, [4.0, 1.0, 0.5]], ids=str)
def test_the_best_border_has_a_small_p_value_as_often_as_it_says(rng, weights):
    """Bridges in 255 steps: the level holds, and not by far."""
    n_steps, n_draws = 255, 4000
    share = np.arange(1, n_steps) / n_steps
    total = np.zeros((n_draws, n_steps - 1))
    for weight in weights:
        path = np.cumsum(rng.normal(size=(n_draws, n_steps)), axis=1) / np.sqrt(n_steps)
        bridge = path[:, :-1] - share * path[:, -1:]
        total += weight * bridge**2 / (share * (1 - share))
    for level in (0.05, 0.01):
        critical = np.array([_level_at(level, np.array(weights), own) for own in share])
        assert 0.4 * level < (total > critical).any(axis=1).mean() < 1.1 * level


def _level_at(level, weights, share):
    low, high = weights.sum(), 200.0 * weights.max()
    for _ in range(60):
        middle = (low + high) / 2
        of_all = best_of_all(middle, weights, share, 254, 1, 1)
        low, high = (middle, high) if of_all > level else (low, middle)
    return high


def test_few_splits_are_counted_and_columns_always():
    weights = np.ones(3)
    tail = upper_tail(20.0, weights)[0]
    assert best_of_all(20.0, weights, 0.5, 2, 1, 4) == pytest.approx(8 * tail)
    assert best_of_all(20.0, weights, 0.5, 500, 0, 4) == pytest.approx(2000 * tail)
    along = best_of_borders(20.0, weights, 0.5)
    assert best_of_all(20.0, weights, 0.5, 500, 2, 4) == pytest.approx(8 * along)
    assert along < 100 * tail


# --- some terms only -----------------------------------------------------------------------------


def treated(rng, effect):
    """A treatment by chance, a prognosis that jumps and bends, an effect that may change."""
    X = rng.normal(size=(800, 4))
    X[:, 0] = rng.integers(0, 2, 800)
    y = 2 * (X[:, 1] > 0) + X[:, 0] * (0.5 + effect * (X[:, 2] > 0)) + rng.normal(size=800)
    return X, y


def test_splits_are_where_the_tested_terms_change():
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        given = {"tested_terms": [0], **PLAIN}
        assert ModelTreeRegressor(**PLAIN).fit(*treated(rng, 0.0)).tree_.feature[0] == 1
        assert ModelTreeRegressor(**given).fit(*treated(rng, 0.0)).get_n_leaves() == 1
        found.append(ModelTreeRegressor(**given).fit(*treated(rng, 1.2)).tree_.feature[0] == 2)
    assert np.mean(found) >= 0.9


def test_all_terms_tested_but_the_intercept_see_what_they_should(rng):
    """With columns centered by the sides' own means, the intercept differs for free."""
    X = rng.normal(size=(600, 2))
    y = 3.0 * (X[:, 0] > 0) + rng.normal(size=600)
    given = {"tested_terms": [1], "split_features": [0], **PLAIN}
    assert ModelTreeRegressor(**given).fit(X, y).get_n_leaves() == 1
    assert ModelTreeRegressor(**given).fit(X, y + (X[:, 0] > 0) * X[:, 1]).get_n_leaves() == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"significance_test": "likelihood"}, "tested_terms needs significance_test='robust'"),
        ({"criterion": "impurity"}, "tested_terms needs criterion='gradient_zscore'"),
        ({"leaf_features": [1]}, "which is not in leaf_features"),
        ({"tested_terms": []}, "tested_terms names no column"),
    ],
)
def test_terms_that_cannot_be_tested_are_refused(rng, given, message):
    with pytest.raises(ValueError, match=message):
        ModelTreeRegressor(**{"tested_terms": [0], **given}).fit(*treated(rng, 0.0))


# --- level and power -----------------------------------------------------------------------------


@pytest.mark.parametrize("noise", LEVEL)
def test_whatever_the_noise_a_tree_seldom_splits_in_vain(noise):
    """Seeds are fixed; benchmarks/split_level.py has more runs."""
    assert share_of_runs(LEVEL[noise], 60, lambda sample: sample.splits(), seed=2) <= 0.05


def test_the_likelihood_is_right_for_its_own_noise_only():
    for noise in ("spread that grows with a column", "three rows per subject"):
        found = share_of_runs(
            LEVEL[noise], 10, lambda sample: sample.splits(significance_test="likelihood")
        )
        assert found > 0.5


@pytest.mark.parametrize("design", list(POWER)[:2])
def test_true_splits_are_found_as_often_as_by_others(design):
    """On the same samples, of which 60 tell powers apart by a tenth at best."""
    ours = share_of_runs(POWER[design], 60, lambda sample: sample.splits(), seed=3)
    assert ours >= share_of_runs(POWER[design], 60, finds_instability, seed=3) - 0.05


# --- outputs that are apart -----------------------------------------------------------------------


@pytest.mark.parametrize("mirrored", [False, True], ids=["independent", "in pairs"])
def test_the_level_of_outputs_that_are_apart_holds_if_their_residuals_go_together(rng, mirrored):
    """A sum of squares of 8 outputs in 3 directions each; half of them may mirror the others."""
    n_outputs, size, n_runs = 8, 3, 4000
    residuals = rng.normal(size=(n_runs, n_outputs, size))
    if mirrored:
        residuals[:, n_outputs // 2 :] = -residuals[:, : n_outputs // 2]
    along = residuals[:, :, 0].T
    of_output = np.repeat(np.arange(n_outputs), size)
    weights = _together(np.ones(n_outputs * size), of_output, along @ along.T)
    assert weights.sum() == pytest.approx(n_outputs * size)
    values = (residuals**2).sum(axis=(1, 2))
    found = np.mean([upper_tail(value, weights)[0] < 0.05 for value in values])
    assert found == pytest.approx(0.05, abs=0.015)


def test_a_short_model_knows_the_split_that_it_was_refused(rng):
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + rng.normal(size=300)
    record = ModelTreeRegressor(max_numbers="auto").fit(X, y).tree_.record
    assert record.refused[0] >= 0 and record.p_value[0] > 0.05
