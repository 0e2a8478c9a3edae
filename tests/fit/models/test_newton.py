"""The linear models against scikit-learn, scipy and their own optimality conditions."""

import warnings

import numpy as np
import oracles
import pandas as pd
import pytest
from bare import classifier, regressor
from scipy.optimize import lsq_linear, minimize
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.preprocessing import StandardScaler

from glassleaf.fit.models.newton import HessianUse, NewtonFit, Penalty, QuadraticModel, Sums

weighted = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
alphas = pytest.mark.parametrize("alpha", [0.01, 1.0, 30.0])


def make_features(n=200, m=5, weighted=False, seed=0):
    """Standardized features (over the weighted rows) and weights."""
    rng = np.random.default_rng(seed)
    weight = rng.choice([0.5, 1.0, 3.0], n) if weighted else np.ones(n)
    X = rng.normal(size=(n, m)) @ (np.eye(m) + 0.3 * rng.normal(size=(m, m)))
    return StandardScaler().fit_transform(X, sample_weight=weight), weight, rng


def leaf(X, y, weight, kind=regressor, **given):
    """Coefficients and intercept of a tree that is one leaf."""
    tree = kind(max_depth=0, **given).fit(X, y, weight).tree_
    return tree.coef[0], tree.intercept[0]


def assert_same(found, coef, intercept, rtol=1e-5):
    size = np.abs(np.append(coef, intercept)).max()
    np.testing.assert_allclose(found[0], coef, rtol=rtol, atol=rtol * size)
    np.testing.assert_allclose(found[1], intercept, rtol=rtol, atol=rtol * size)


# --- known answers -------------------------------------------------------------------------------


def test_a_line_is_found_exactly_without_a_penalty():
    X = np.arange(10.0)[:, None]
    assert_same(leaf(X, 3 * X[:, 0] - 2, None, alpha=0), [3.0], -2.0, rtol=1e-12)


def test_a_huge_penalty_leaves_the_mean():
    X, weight, rng = make_features(weighted=True)
    y = X[:, 0] + rng.normal(size=len(X)) + 5
    coef, intercept = leaf(X, y, weight, alpha=1e12)
    np.testing.assert_allclose(coef, 0.0, atol=1e-8)
    np.testing.assert_allclose(intercept, np.average(y, weights=weight), rtol=1e-9)


# --- scikit-learn --------------------------------------------------------------------------------


@weighted
@alphas
def test_squared_error_is_ridge(alpha, weighted):
    X, weight, rng = make_features(weighted=weighted)
    y = 4 * X @ rng.normal(size=X.shape[1]) + rng.normal(size=len(X)) + 7
    other = Ridge(alpha=alpha).fit(X, y, weight)
    assert_same(leaf(X, y, weight, alpha=alpha), other.coef_, other.intercept_, rtol=1e-9)


@weighted
@alphas
def test_two_classes_are_logistic_regression(alpha, weighted):
    X, weight, rng = make_features(weighted=weighted)
    y = (X @ rng.normal(size=X.shape[1]) + rng.logistic(size=len(X)) > 0.5).astype(int)
    other = LogisticRegression(C=1 / alpha, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    other.fit(X, y, weight)
    found = leaf(X, y, weight, classifier, alpha=alpha)
    assert_same(found, other.coef_[0], other.intercept_[0])


@weighted
@alphas
def test_three_classes_are_multinomial_regression(alpha, weighted):
    X, weight, rng = make_features(m=3, weighted=weighted)
    scores = X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(len(X), 3))
    y = np.argmax(scores, axis=1)
    other = LogisticRegression(C=1 / alpha, tol=1e-12, max_iter=10_000).fit(X, y, weight)
    coef, intercept = leaf(X, y, weight, classifier, alpha=alpha)
    # Adding the same to every class changes nothing: compare with that taken out.
    intercept = intercept - intercept.mean()
    assert_same((coef, intercept), other.coef_, other.intercept_ - other.intercept_.mean(), 2e-5)


@pytest.mark.parametrize(("n", "m", "n_classes"), [(1500, 20, 5), (1500, 4, 50), (6000, 20, 3)])
def test_many_parameters_of_classes_are_multinomial_regression(n, m, n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n, m))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.argmax(X @ rng.normal(size=(m, n_classes)) + rng.gumbel(size=(n, n_classes)), axis=1)
    model = classifier(max_depth=0, alpha=1.0).fit(X, y)
    other = LogisticRegression(solver="newton-cg", tol=1e-12, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-5)


@weighted
@alphas
@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_log_link_losses_are_those_of_scikit_learn(loss, alpha, weighted):
    X, weight, rng = make_features(weighted=weighted)
    expected = np.exp(0.4 * X @ rng.normal(size=X.shape[1]) + 1)
    if loss == "poisson":
        kind, y = PoissonRegressor, rng.poisson(expected).astype(float)
    else:
        kind, y = GammaRegressor, expected * rng.gamma(3.0, 1 / 3, len(X))
    # scikit-learn divides the loss by the weight of all rows, we do not.
    other = kind(alpha=alpha / weight.sum(), tol=1e-10, max_iter=10_000, solver="newton-cholesky")
    other.fit(X, y, weight)
    found = leaf(X, y, weight, loss=loss, alpha=alpha)
    assert_same(found, other.coef_, other.intercept_)


@weighted
@alphas
@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
def test_l1_is_the_elastic_net(alpha, l1_ratio, weighted):
    X, weight, rng = make_features(weighted=weighted)
    y = X @ (rng.normal(size=X.shape[1]) * [1, 1, 0, 0, 0]) + rng.normal(size=len(X))
    y = (y - np.average(y, weights=weight)) / np.sqrt(np.cov(y, aweights=weight, bias=True))
    n = weight.sum()
    other = ElasticNet(alpha=alpha / n, l1_ratio=l1_ratio, tol=1e-14, max_iter=100_000)
    other.fit(X, y, weight)
    found = leaf(X, y, weight, alpha=alpha, l1_ratio=l1_ratio)
    assert_same(found, other.coef_, other.intercept_)
    assert ((found[0] == 0) == (other.coef_ == 0)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_l1_leaves_out_useless_columns_of_classifiers(n_classes):
    X, _, rng = make_features(400, 6)
    y = np.digitize(2 * X[:, 0] + rng.logistic(size=len(X)), [0, 1.5][: n_classes - 1])
    other = LogisticRegression(C=1 / 20, l1_ratio=1, solver="saga", tol=1e-10, max_iter=100_000)
    other.fit(X, y)
    coef, _ = leaf(X, y, None, classifier, alpha=20, l1_ratio=1.0)
    np.testing.assert_allclose(np.atleast_2d(coef), other.coef_, atol=1e-4)
    assert (coef == 0).any()


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_classifiers_meet_the_optimality_conditions(n_classes, l1_ratio):
    """The gradient of the loss balances the penalty: exactly l1 where a weight is not 0."""
    worst = 0.0
    for seed in range(3):
        X, weight, rng = make_features(300, 5, weighted=True, seed=seed)
        scores = 3 * X @ rng.normal(size=(5, n_classes)) + rng.gumbel(size=(300, n_classes))
        y = np.argmax(scores, axis=1)
        coef, intercept = leaf(X, y, weight, classifier, alpha=1.0, l1_ratio=l1_ratio)
        coef = np.atleast_2d(coef)
        slope = oracles.slopes("log_loss", y.astype(float), X @ coef.T + intercept, None)
        slope *= weight[:, None]
        gradient = slope.T @ X + (1 - l1_ratio) * coef
        inside = np.maximum(np.abs(gradient) - l1_ratio, 0)
        excess = np.where(coef != 0, np.abs(gradient + l1_ratio * np.sign(coef)), inside)
        worst = max(worst, np.abs(slope.sum(axis=0)).max() / np.abs(slope).sum())
        worst = max(worst, excess.max() / np.abs(slope).sum())
    assert worst < 1e-5


@weighted
@alphas
def test_huber_minimizes_its_objective(alpha, weighted):
    X, weight, rng = make_features(weighted=weighted)
    y = 10 + 3 * (X @ rng.normal(size=X.shape[1]) + rng.standard_t(1.5, len(X)))
    delta = oracles.huber_delta(y, weight)
    spread = delta / 1.35

    def objective(theta):
        r = (X @ theta[:-1] + theta[-1] - y) / spread
        far = np.abs(r) > 1.35
        value = weight @ np.where(far, 1.35 * (np.abs(r) - 0.675), r**2 / 2)
        slope = weight * np.clip(r, -1.35, 1.35) / spread
        value += alpha / 2 * (theta[:-1] ** 2).sum() / spread**2
        ridge = alpha * theta[:-1] / spread**2
        return value, np.append(X.T @ slope + ridge, slope.sum())

    start = np.append(np.zeros(X.shape[1]), np.median(y))
    best = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-9})
    found = leaf(X, y, weight, loss="huber", alpha=alpha)
    assert_same(found, best.x[:-1], best.x[-1])


def test_weight_two_is_the_row_twice():
    X, _, rng = make_features(60)
    y = X @ rng.normal(size=X.shape[1]) + rng.normal(size=len(X))
    weight = rng.integers(1, 4, len(X))
    twice = np.repeat(np.arange(len(X)), weight)
    for loss in ("squared_error", "huber"):
        one = leaf(X, y, weight.astype(float), loss=loss)
        assert_same(one, *leaf(X[twice], y[twice], None, loss=loss), rtol=1e-9)


# --- every node of a tree ------------------------------------------------------------------------


def check_optimal(tree, X, design, y, weight, loss, alpha, tolerance=1e-5):
    """The penalized gradient of every node's model, in the node's own units, is zero."""
    reach = oracles.rows_of_nodes(tree, X)
    for node in range(tree.node_count):
        rows = reach[node]
        D, w = design[rows], weight[rows]
        coef, intercept = np.atleast_2d(tree.coef[node]), np.atleast_1d(tree.intercept[node])
        slope = oracles.slopes(loss, y[rows], D @ coef.T + intercept, None) * w[:, None]
        spread = np.array([oracles.std(x, w) for x in D.T])
        gradient = oracles.standardized(D, w).T @ slope + alpha * (coef * spread).T
        if len(set(y[rows])) == len(set(y)) or loss == "squared_error":
            size = np.abs(slope).sum() + 1
            np.testing.assert_allclose(slope.sum(axis=0), 0.0, atol=tolerance * size)
            np.testing.assert_allclose(gradient, 0.0, atol=tolerance * size, err_msg=f"{node}")


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_models_of_all_nodes_are_optimal(n_classes, seed):
    rng = np.random.default_rng(seed)
    n = 300
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 4, n), 1e6 + rng.normal(size=n)])
    score = np.where(X[:, 0] > 0, 1, -1) * (X[:, 2] - 1e6) + rng.logistic(size=n)
    kind, y = regressor, score
    if n_classes:
        kind, y = classifier, np.digitize(score, [0, 1][: n_classes - 1])
    tree = kind(max_depth=2, alpha=0.7).fit(X, y).tree_
    assert tree.node_count == 7
    loss = "log_loss" if n_classes else "squared_error"
    check_optimal(tree, X, X, y.astype(float), np.ones(n), loss, 0.7)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("seed", range(10))
def test_models_stay_optimal_where_the_commonest_category_is_absent(n_classes, seed):
    """Splitting off the commonest category leaves the other side with a column of zeros."""
    rng = np.random.default_rng(seed)
    n = 200
    X = np.column_stack([rng.choice(6, n, p=[0.1, 0.4, 0.2, 0.1, 0.1, 0.1]), rng.normal(size=n)])
    X[:6, 0] = range(6)
    score = np.where(X[:, 0] == 1, 3, -3) * X[:, 1] + rng.logistic(size=n)
    kind, y = regressor, score
    if n_classes:
        kind, y = classifier, np.digitize(score, [0, 2][: n_classes - 1])
    table = pd.DataFrame({"group": X[:, 0], "x": X[:, 1]})
    table["group"] = [f"level {code:.0f}" for code in X[:, 0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = {"alpha": 0.5, "min_samples_leaf": 5, "split_features": ["group"]}
        tree = kind(max_depth=1, **given).fit(table, y).tree_
    assert tree.left_categories(0).tolist() == [False, True, False, False, False, False]
    assert (tree.coef[2].reshape(-1, 7)[:, 1] == 0).all()  # no row there has the category
    design = oracles.design_matrix(X, np.ones(n), categorical=(0,))
    loss = "log_loss" if n_classes else "squared_error"
    check_optimal(tree, X, design, y.astype(float), np.ones(n), loss, 0.5)


# --- the solver by itself ------------------------------------------------------------------------


def quadratic_problem(seed, n=40, m=6):
    """Least squares with an intercept: rows, target, and a function that sums at parameters."""
    rng = np.random.default_rng(seed)
    A = np.column_stack([rng.normal(size=(n, m)), np.ones(n)])
    y = A @ rng.normal(size=m + 1) + rng.normal(size=n)

    def sums(theta, with_hessian):
        r = A @ theta[0] - y
        hessian = (A.T @ A)[None, :, None, :].copy() if with_hessian else None
        return Sums(0.5 * float(r @ r), (A.T @ r)[None], hessian)

    return A, y, sums


def solve(start, penalty, sums, use=HessianUse.CONSTANT):
    fit = NewtonFit(start, penalty, use)
    while not fit.is_done:
        fit.receive(sums(*fit.request))
    return fit


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_bounds_agree_with_lsq_linear(seed, alpha):
    A, y, sums = quadratic_problem(seed)
    m = A.shape[1] - 1
    lower, upper = np.full(m, -0.3), np.full(m, 0.5)
    lower[0], upper[1] = 0.0, np.inf
    ridge = np.sqrt(alpha) * np.eye(m, m + 1)
    free = [[-np.inf], [np.inf]]
    best = lsq_linear(
        np.vstack([A, ridge]), np.append(y, np.zeros(m)),
        (np.append(lower, free[0]), np.append(upper, free[1])), tol=1e-14,
    )  # fmt: skip
    fit = solve(np.zeros((1, m + 1)), Penalty(alpha, 0.0, lower, upper), sums)
    np.testing.assert_allclose(fit.theta[0], best.x, rtol=1e-5, atol=1e-6)
    assert (fit.theta[0, :-1] >= lower).all() and (fit.theta[0, :-1] <= upper).all()


@pytest.mark.parametrize("bounded", ["lower", "upper"])
def test_one_sided_bounds_give_signs(bounded):
    A, y, sums = quadratic_problem(7)
    m = A.shape[1] - 1
    fit = solve(np.zeros((1, m + 1)), Penalty(0.0, **{bounded: np.zeros(m)}), sums)
    sign = 1 if bounded == "lower" else -1
    assert (sign * fit.theta[0, :-1] >= 0).all() and (fit.theta[0, :-1] == 0).any()


def test_one_step_solves_a_quadratic_problem_and_predicts_its_decrease():
    A, y, sums = quadratic_problem(3)
    penalty = Penalty(2.0)
    start = np.zeros((1, A.shape[1]))
    at_start = sums(start, True)
    model = QuadraticModel(at_start.hessian, penalty)
    change, predicted = model.step(start, at_start.gradient)
    ridge = 2.0 * np.diag(np.append(np.ones(A.shape[1] - 1), 0.0))
    np.testing.assert_allclose(change[0], np.linalg.solve(A.T @ A + ridge, A.T @ y), rtol=1e-9)
    at_end = sums(start + change, False)
    decrease = at_start.loss - at_end.loss - penalty.value(start + change)
    np.testing.assert_allclose(predicted, decrease, rtol=1e-9)
    lost = model.loss_change(at_start.gradient, change)
    np.testing.assert_allclose(lost, at_end.loss - at_start.loss, rtol=1e-9)


@pytest.mark.parametrize("noise", [1.0, 0.1, 1e-7, 0.0])
@pytest.mark.parametrize("twins", [0.0, 1e-5, 1.0])
def test_one_step_of_a_quadratic_loss_has_the_digits_of_two(noise, twins):
    """With collinear columns, or hardly any loss left, there is a second look."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    A = np.column_stack([x, x[:, 0] + twins * rng.normal(size=200), np.ones(200)])
    y = A @ [1.0, -2.0, 0.5, 0.0, 3.0] + noise * rng.normal(size=200)
    looks = []

    def sums(theta, with_hessian):
        looks.append(with_hessian)
        r = A @ theta[0] - y
        hessian = (A.T @ A)[None, :, None, :] if with_hessian else None
        return Sums(float(0.5 * r @ r), (A.T @ r)[None], hessian)

    fit = solve(np.zeros((1, 5)), Penalty(1e-9), sums, HessianUse.CONSTANT)
    r = A @ fit.theta[0] - y
    assert fit.loss == pytest.approx(0.5 * float(r @ r), rel=1e-8, abs=1e-20)
    assert len(looks) == (1 if noise >= 0.1 and twins == 1.0 else 2)


@pytest.mark.parametrize(
    ("use", "n_hessians", "slope_left", "precision"),
    # A kept Hessian is renewed while steps are long, and not for a decrease that is negligible.
    [(HessianUse.RENEW, 6, 1e-6, 1e-9), (HessianUse.KEEP, 4, 1e-2, 1e-7)],
)
def test_the_solution_does_not_depend_on_how_often_the_hessian_is_renewed(
    use, n_hessians, slope_left, precision
):
    rng = np.random.default_rng(0)
    A = np.column_stack([rng.normal(size=(100, 4)), np.ones(100)])
    y = rng.poisson(np.exp(A @ [1, -1, 0.5, 0, 0.3])).astype(float)
    asked = []

    def sums(theta, with_hessian):
        asked.append(with_hessian)
        z = A @ theta[0]
        hessian = (A.T * np.exp(z)) @ A if with_hessian else None
        value = float(
            (np.exp(z) - y * z + np.where(y > 0, y * np.log(np.maximum(y, 1)) - y, 0)).sum()
        )
        shaped = None if hessian is None else hessian[None, :, None, :]
        return Sums(value, (A.T @ (np.exp(z) - y))[None], shaped)

    fit = solve(np.zeros((1, 5)), Penalty(0.0), sums, use)
    assert sum(asked) == n_hessians
    np.testing.assert_allclose(A.T @ (np.exp(A @ fit.theta[0]) - y), 0.0, atol=slope_left)
    np.testing.assert_allclose(fit.loss, sums(fit.theta, False).loss, rtol=precision)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("twin", [False, True])
def test_shrinkage_is_the_share_that_the_penalty_leaves(rng, order, alpha, twin):
    A = np.column_stack([rng.normal(size=(50, 3)), np.ones(50)])
    if twin:
        A[:, 1] = A[:, 0]
    hessian = (A.T @ A).reshape(1, 4, 1, 4)
    shares = QuadraticModel(np.array(hessian, order=order), Penalty(alpha)).shrinkage()
    ridge = np.diag([alpha, alpha, alpha, 0.0])
    expected = np.linalg.eigvals(np.linalg.pinv(A.T @ A + ridge) @ (A.T @ A)).real
    assert shares.sum() == pytest.approx(expected.sum(), rel=1e-8)


# --- hard problems: finite parameters, no warnings -----------------------------------------------


def fit_quietly(kind, X, y, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator = kind(**given).fit(X, y)
        prediction = estimator.predict(X)
    tree = estimator.tree_
    assert np.isfinite(tree.coef).all() and np.isfinite(tree.intercept).all()
    return estimator, prediction


@pytest.mark.parametrize("alpha", [0.0, 1e-6, 1.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_classes(alpha, n_classes):
    X, _, _ = make_features(100, 3)
    y = np.digitize(X[:, 0], [0, 0.7][: n_classes - 1])
    _, prediction = fit_quietly(classifier, X, y, max_depth=1, alpha=alpha)
    assert (prediction == y).mean() > 0.9


@pytest.mark.parametrize("loss", ["squared_error", "huber", "poisson", "gamma"])
def test_collinear_columns_without_a_penalty(loss):
    X, _, rng = make_features(100, 3)
    y = np.exp(0.3 * X[:, 0]) + 0.1 * rng.random(100)
    doubled = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2]])
    given = {"max_depth": 0, "alpha": 0, "loss": loss}
    _, prediction = fit_quietly(regressor, doubled, y, **given)
    _, expected = fit_quietly(regressor, X, y, **given)
    np.testing.assert_allclose(prediction, expected, rtol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_collinear_columns_of_classifiers_without_a_penalty(n_classes):
    X, _, rng = make_features(200, 3)
    y = np.digitize(X[:, 0] + rng.logistic(size=200), [0, 1][: n_classes - 1])
    doubled = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2]])
    given = {"max_depth": 0, "alpha": 0}
    found, _ = fit_quietly(classifier, doubled, y, **given)
    expected, _ = fit_quietly(classifier, X, y, **given)
    np.testing.assert_allclose(found.predict_proba(doubled), expected.predict_proba(X), rtol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("loss", ["squared_error", "huber", "poisson", "gamma", "log_loss"])
def test_fewer_rows_than_columns(loss, alpha):
    X, _, rng = make_features(12, 20)
    if loss == "log_loss":
        fit_quietly(classifier, X, np.arange(12) % 3, alpha=alpha, max_depth=1)
        return
    y = 1 + rng.random(12)
    _, prediction = fit_quietly(regressor, X, y, loss=loss, alpha=alpha, max_depth=0)
    if alpha == 0 and loss == "squared_error":
        np.testing.assert_allclose(prediction, y, rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_node_with_one_class_says_so_without_certainty(alpha, n_classes):
    X = np.column_stack([np.repeat([0.0, 1.0], 60), np.tile(np.linspace(-1, 1, 60), 2)])
    y = np.where(X[:, 0] == 0, 0, np.arange(120) % n_classes)
    estimator, _ = fit_quietly(classifier, X, y, max_depth=1, alpha=alpha, criterion="impurity")
    assert estimator.tree_.feature[0] == 0 and estimator.tree_.threshold[0] == 0.5
    probability = estimator.predict_proba(X[:60])[:, 0]
    # 60 rows of the class and half a row of each other one.
    np.testing.assert_allclose(probability, 60 / (60 + 0.5 * (n_classes - 1)), rtol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_node_without_events_predicts_few(alpha):
    X = np.column_stack([np.repeat([0.0, 1.0], 60), np.tile(np.linspace(-1, 1, 60), 2)])
    y = np.where(X[:, 0] == 0, 0.0, 3.0 + np.arange(120) % 2)
    estimator, prediction = fit_quietly(
        regressor, X, y, loss="poisson", max_depth=1, alpha=alpha, criterion="impurity"
    )
    assert estimator.tree_.feature[0] == 0
    # One imagined row with half an event among 60: the mean of 61 rows.
    np.testing.assert_allclose(prediction[:60], 0.5 / 61, rtol=1e-4)


@pytest.mark.parametrize("y", [np.full(50, 4.2), np.zeros(50), np.full(50, 1e12)])
def test_a_constant_target_is_predicted_exactly(y):
    X, _, _ = make_features(50, 2)
    for loss in ("squared_error", "huber"):
        estimator, prediction = fit_quietly(regressor, X, y, loss=loss)
        np.testing.assert_allclose(prediction, y, rtol=1e-12)
        assert estimator.tree_.node_count == 1


def test_constant_columns_have_no_weight():
    X, _, rng = make_features(80, 2)
    X = np.column_stack([X, np.full(80, 0.1), np.zeros(80)])
    estimator, _ = fit_quietly(regressor, X, X[:, 0] + rng.normal(size=80), alpha=0)
    assert (estimator.tree_.coef[:, 2:] == 0).all()


@pytest.mark.parametrize("loss", ["squared_error", "huber", "poisson", "gamma", "log_loss"])
def test_units_of_the_columns_do_not_change_the_predictions(loss):
    X, _, rng = make_features(150, 3)
    signal = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1]) + 0.3 * rng.normal(size=150)
    y = np.exp(signal / 2)
    kind, given = regressor, {"loss": loss}
    if loss == "log_loss":
        kind, y = classifier, (signal > 0).astype(int)
    scaled = X * [1e9, 1e-9, 1.0] + [0.0, 0.0, 1e4]
    one, prediction = fit_quietly(kind, X, y, max_depth=2, **given)
    other, same = fit_quietly(kind, scaled, y, max_depth=2, **given)
    assert (one.tree_.feature == other.tree_.feature).all()
    np.testing.assert_allclose(prediction, same, rtol=1e-6)
