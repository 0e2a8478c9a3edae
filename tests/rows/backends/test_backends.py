"""Rows cut into shards give the same tree: sums are added, decisions taken on the sums."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pytest
from bare import classifier, regressor
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits
from threads import always_threads
from whole_models import ModelTreeClassifier, ModelTreeRegressor

from glassleaf import losses
from glassleaf.fit import train as training
from glassleaf.fit.models import linear as linear_models
from glassleaf.losses import BinaryLogLoss, MulticlassLogLoss, SquaredError
from glassleaf.rows import passes as on_rows
from glassleaf.rows import slices
from glassleaf.rows.backends import local
from glassleaf.rows.summarize import Part
from glassleaf.tables import binning
from glassleaf.tables.compressed import Compressed
from glassleaf.tables.table import frame_table, raw_matrix
from glassleaf.tree.tree import term_matrix


class Shards:
    """A backend as plain as can be: seven parts of the rows, results added one by one."""

    n_shards = 7
    largest_summary = np.inf

    def __init__(self, part, n_threads):
        ends = [len(part.y) * k // self.n_shards for k in range(self.n_shards + 1)]
        self.shards = [
            Part(part.table.take(slice(a, b)), part.y[a:b], part.weight[a:b], number)
            for number, (a, b) in enumerate(zip(ends, ends[1:], strict=False))
        ]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def become(self, function, *given):
        self.shards = [function(shard, *given) for shard in self.shards]

    def sum(self, function, tasks, then=None):
        totals = []
        for task in tasks:
            total, *others = (function(shard, task) for shard in self.shards)
            for other in others:
                total = total + other
            totals.append(total if then is None else then(task, total))
        return totals

    def each(self, function, tasks):
        for task in tasks:
            for shard in self.shards:
                function(shard, task)


# Of the paper's method, and of the defaults (in "refine" with all that they leave out).
SETTINGS = {
    "zscore": (regressor, {}),
    "minmax": (regressor, {"criterion": "gradient_minmax"}),
    "raw": (regressor, {"criterion": "gradient"}),
    "impurity": (regressor, {"criterion": "impurity"}),
    "huber": (regressor, {"loss": "huber"}),
    "binary": (classifier, {}),
    "multiclass": (classifier, {"max_depth": 2}),
    "default": (ModelTreeRegressor, {}),
    "default huber": (ModelTreeRegressor, {"loss": "huber"}),
    "default binary": (ModelTreeClassifier, {}),
    "default multiclass": (ModelTreeClassifier, {"max_depth": 2}),
    "refine": (ModelTreeRegressor, {"refine": True, "significance": None}),
    "refine binary": (ModelTreeClassifier, {"refine": True, "significance": None}),
    "refine only": (regressor, {"refine": True}),
}


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    n = 3000
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
            "c": rng.choice(list("xyz"), n),
            "rare": (rng.random(n) < 0.05) * 1.0,
            "far": np.where(rng.random(n) < 0.5, 0.0, 1e6) + rng.normal(size=n),
        }
    )
    X.loc[rng.random(n) < 0.1, "a"] = np.nan
    y = np.where(X["c"] == "x", X["b"], -X["b"]) + 0.3 * rng.normal(size=n) + X["rare"]
    y += np.where(X["far"] > 5e5, X["far"] - 1e6, -X["far"])
    return X, y.to_numpy()


def fitted(name, mixed, weight=None):
    kind, settings = SETTINGS[name]
    X, y = mixed
    classes = {"binary": y > 0, "multiclass": np.digitize(y, [-0.5, 0.5])}
    target = classes.get(name.split()[-1], y)
    return kind(**settings).fit(X, target, sample_weight=weight).tree_


def assert_same_tree(tree, other, gain_rtol=1e-6):
    np.testing.assert_array_equal(tree.feature, other.feature)
    # A border through a bin lies between values that were stored in units of the whole column.
    np.testing.assert_allclose(tree.threshold, other.threshold, rtol=1e-8)
    np.testing.assert_array_equal(tree.categories, other.categories)
    np.testing.assert_array_equal(tree.n_samples, other.n_samples)
    np.testing.assert_allclose(tree.coef, other.coef, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(tree.gain, other.gain, rtol=gain_rtol)
    np.testing.assert_allclose(tree.loss, other.loss, rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SETTINGS)
def test_seven_shards_give_the_same_tree(monkeypatch, mixed, name, weighted):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 3000) if weighted else None
    whole = fitted(name, mixed, weight)
    monkeypatch.setattr(training, "LocalBackend", Shards)
    # Exact gains of splits on "far" are those of columns of which ten digits are the same; the tree
    # that is refined goes on to one of next to no gain.
    rtol = (
        5e-2
        if name == "refine"
        else 5e-3
        if SETTINGS[name][0] in (ModelTreeRegressor, ModelTreeClassifier)
        else 1e-6
    )
    assert_same_tree(whole, fitted(name, mixed, weight), rtol)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [name for name in SETTINGS if name.startswith(("def", "ref"))])
def test_seven_shards_give_the_same_exact_gains(monkeypatch, mixed, name, weighted):
    X, y = mixed
    heavy = np.random.default_rng(2).standard_t(2, len(X))
    y = y + 0.2 * np.cbrt(heavy) + np.where(heavy > 0.5, 2 * X["b"], 0.0)
    known = X.assign(far=heavy), y
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 3000) if weighted else None
    whole = fitted(name, known, weight)
    assert whole.node_count > 3
    monkeypatch.setattr(training, "LocalBackend", Shards)
    assert_same_tree(whole, fitted(name, known, weight))


@pytest.mark.parametrize(
    "name", ["zscore", "binary", "multiclass", "huber", "default", "default binary"]
)
@pytest.mark.parametrize(
    "constants",
    [
        {},
        {"_DEAR_PRODUCTS": 0},
        {"_DEAR_PRODUCTS": np.inf},
    ],
    ids=["threads share passes", "Hessians kept", "Hessians renewed"],
)
def test_how_the_work_is_shared_does_not_change_the_tree(monkeypatch, mixed, name, constants):
    usual = fitted(name, mixed)
    for constant, value in constants.items():
        monkeypatch.setattr(linear_models, constant, value)
    monkeypatch.setattr(slices, "GRAIN", 1000)
    monkeypatch.setattr(slices, "_WORTH_A_SLICE", 0)
    with always_threads():
        other = fitted(name, mixed)
    np.testing.assert_array_equal(usual.feature, other.feature)
    np.testing.assert_allclose(usual.threshold, other.threshold, rtol=1e-12)
    np.testing.assert_allclose(usual.loss, other.loss, rtol=3e-4)


@pytest.mark.parametrize("name", ["zscore", "binary", "multiclass", "default", "default binary"])
def test_how_bins_are_stored_does_not_change_the_tree(monkeypatch, mixed, name):
    X, y = mixed
    X = X.assign(often=np.arange(len(X)) % 5 > 0, seldom=1.0 * (np.arange(len(X)) % 7 == 0))
    usual = fitted(name, (X, y))
    monkeypatch.setattr(binning, "_RARE_SHARE", -1.0)  # no bin is left out
    assert_same_tree(usual, fitted(name, (X, y)))


def test_a_node_far_from_the_others_is_put_into_its_own_units(monkeypatch, mixed):
    moved = []
    move = on_rows.move_dense

    def remembered(rows, task):
        moved.append(task.node)
        move(rows, task)

    monkeypatch.setattr(on_rows, "move_dense", remembered)
    X, y = mixed
    stump = regressor(max_depth=1, split_features=["far"])
    tree = stump.fit(X, y).tree_
    assert moved
    for leaf in set(moved):
        here = stump.apply(X) == leaf
        terms = term_matrix(raw_matrix(frame_table(X[here]), tree.columns), tree.terms)
        scaled = StandardScaler().fit_transform(terms)
        expected = Ridge(alpha=1.0).fit(scaled, y[here]).predict(scaled)
        np.testing.assert_allclose(stump.predict(X[here]), expected, atol=1e-5)


# --- threads of this process ---------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_come_in_the_order_of_their_tasks(n_threads):
    with local.LocalBackend(10, n_threads) as backend:
        found = backend.sum(lambda shard, k: shard * k, list(range(30)))
        then = backend.sum(lambda shard, k: shard * k, [1, 2], then=lambda task, s: (task, s))
    assert found == [10 * k for k in range(30)]
    assert then == [(1, 10), (2, 20)]


@pytest.mark.parametrize("at", [0, 7, 29])
def test_an_error_in_a_task_is_raised_and_ends_the_others(at):
    done = []

    def fail(shard, k):
        if k == at:
            raise ValueError(f"task {k}")
        time.sleep(0.001)
        done.append(k)

    with (
        local.LocalBackend(None, 2) as backend,
        pytest.raises(ValueError, match=f"task {at}"),
    ):
        backend.sum(fail, list(range(2000)))
    assert len(done) < 100


def test_an_interrupt_is_not_hidden_by_the_error_of_another_thread():
    here = threading.get_ident()

    def fail(shard, k):
        time.sleep(0.01)
        if threading.get_ident() == here:
            time.sleep(0.05)
            raise KeyboardInterrupt
        raise ValueError(f"task {k}")

    with local.LocalBackend(None, 2) as backend, pytest.raises(KeyboardInterrupt):
        backend.sum(fail, list(range(20)))


# --- Hessians of several outputs -----------------------------------------------------------------


class Coupled(losses.Loss):
    """Two outputs whose second derivatives pull in the same or the opposite direction."""

    n_outputs = 2

    def derivatives(self, y, raw, with_hessian=True):
        curvature = np.column_stack([np.ones(len(y)), 0.5 * np.sign(y), np.ones(len(y))])
        return (raw**2).sum(axis=1), 2 * raw, curvature


@pytest.mark.parametrize("n_sparse", [0, 3])
@pytest.mark.parametrize("signs", [[-1.0], [1.0], [-1.0, 1.0]])
def test_hessians_take_curvatures_of_any_sign(rng, n_sparse, signs):
    n = 50
    dense, plain = rng.normal(size=(n, 4)), (rng.random((n, n_sparse)) < 0.3) * 1.0
    y, weight = rng.choice(signs, n), rng.random(n)
    entries = plain.nonzero()[1].astype(np.uint32)
    ptr = np.concatenate([[0], np.cumsum(plain.sum(axis=1))]).astype(np.int64)
    sparse = Compressed(ptr, entries, np.zeros(0))
    rows = on_rows.Rows(dense, sparse, n_sparse, y, weight, [], {0: (0, n)}, np.zeros((n, 3)))
    coef, intercept = rng.normal(size=(2, 4 + n_sparse)), rng.normal(size=2)
    model = on_rows.RowModel(coef, intercept)
    sums = on_rows.model_sums(rows, on_rows.ModelTask(0, model, Coupled(), True))
    x = np.column_stack([dense, plain, np.ones(n)])
    own, mixed = (x.T * weight) @ x, (x.T * weight * 0.5 * y) @ x
    np.testing.assert_allclose(np.tril(sums.hessian), np.tril([own, mixed, own]), atol=1e-12)


class AnotherLogLoss(BinaryLogLoss):
    """Derived losses may have other derivatives: theirs are asked for."""


class AnotherMulticlassLogLoss(MulticlassLogLoss):
    """The same for several classes."""


class BoundedLogLoss(MulticlassLogLoss):
    """An upper bound of the curvature, whose rows do not sum to zero."""

    def derivatives(self, y, raw, with_hessian=True):
        value, slope, curvature = super().derivatives(y, raw, with_hessian)
        one, other = np.tril_indices(self.n_outputs)
        return value, slope, np.tile(np.where(one == other, 0.5, 0.0), (len(curvature), 1))


def test_the_curvature_of_a_derived_loss_is_taken_as_it_is(rng):
    X = rng.normal(size=(400, 2))
    y = np.digitize(X[:, 0] + rng.normal(size=400), [-0.5, 0.5]) * 1.0
    nothing = Compressed(np.zeros(401, dtype=np.int64), np.zeros(0, np.uint32), np.zeros(0))
    weight, spans = rng.random(400), {0: (0, 400)}
    rows = on_rows.Rows(X, nothing, 0, y, weight, [], spans, np.zeros((400, 2)))
    model = on_rows.RowModel(np.zeros((3, 2)), np.zeros(3))
    task = on_rows.ModelTask(0, model, BoundedLogLoss(3), with_hessian=True)
    hessian = on_rows.model_sums(rows, task).hessian
    x = np.column_stack([X, np.ones(400)])
    own = np.tril((x.T * (0.5 * weight)) @ x)
    np.testing.assert_allclose(np.tril(hessian[[0, 2, 5]]), [own] * 3)
    assert (np.tril(hessian[[1, 3, 4]]) == 0).all()


@pytest.mark.parametrize("n", [0, 1, 513, 9000])
@pytest.mark.parametrize("n_dense, n_sparse", [(0, 3), (1, 0), (6, 3)])
@pytest.mark.parametrize("weights", [np.ones, np.zeros, np.random.default_rng(1).random])
@pytest.mark.parametrize("n_classes", [2, 3, 4])  # of 3, products of matrices; of 4, of rows
def test_sums_of_log_losses_agree_with_those_of_any_loss(
    rng, n, n_dense, n_sparse, weights, n_classes
):
    dense, plain = rng.normal(size=(n, n_dense)), (rng.random((n, n_sparse)) < 0.3) * 1.0
    y, weight = rng.integers(0, n_classes, n) * 1.0, weights(n)
    entries = plain.nonzero()[1].astype(np.uint32)
    ptr = np.concatenate([[0], np.cumsum(plain.sum(axis=1))]).astype(np.int64)
    sparse = Compressed(ptr, entries, np.zeros(0))
    rows = on_rows.Rows(dense, sparse, n_sparse, y, weight, [], {0: (0, n)}, np.zeros((n, 2)))
    loss, other = BinaryLogLoss(), AnotherLogLoss()
    if n_classes > 2:
        loss, other = MulticlassLogLoss(n_classes), AnotherMulticlassLogLoss(n_classes)
    coef = rng.normal(size=(loss.n_outputs, n_dense + n_sparse))
    intercept = rng.normal(size=loss.n_outputs)
    model = on_rows.RowModel(coef, intercept)
    found, expected = (
        on_rows.model_sums(rows, on_rows.ModelTask(0, model, own, with_hessian=True))
        for own in (loss, other)
    )
    assert found.loss == pytest.approx(expected.loss, rel=1e-12)
    np.testing.assert_allclose(found.gradient, expected.gradient, atol=1e-10)
    np.testing.assert_allclose(np.tril(found.hessian), np.tril(expected.hessian), atol=1e-10)
    x = np.column_stack([dense, plain, np.ones(n)])
    raw = x @ np.column_stack([coef, intercept]).T
    _, _, curvature = loss.derivatives(y, raw[:, 0] if n_classes == 2 else raw)
    curvature = curvature.reshape(n, len(found.hessian))
    for hessian, factor in zip(found.hessian, curvature.T, strict=True):
        plainly = np.tril((x.T * (weight * factor)) @ x)
        np.testing.assert_allclose(np.tril(hessian), plainly, atol=1e-10)


@pytest.mark.parametrize("loss", [SquaredError(), BinaryLogLoss(), MulticlassLogLoss(3)])
@pytest.mark.parametrize("n_sparse", [0, 4])
def test_sums_of_segments_are_those_of_their_rows(rng, loss, n_sparse):
    """Bins 0 to 4 of the second feature; bin 3, which no row has, is a segment of its own."""
    n, segment_of_bin = 60, np.array([1, 0, 1, 2, 3], dtype=np.uint16)
    dense, plain = rng.normal(size=(n, 3)), (rng.random((n, n_sparse)) < 0.3) * 1.0
    y, weight = rng.integers(0, 2, n) * 1.0, rng.random(n)
    bins = rng.choice([0, 1, 2, 4], n)
    block = Compressed(np.arange(n + 1), (7 + bins).astype(np.uint16), np.zeros(0), per_row=1)
    entries = plain.nonzero()[1].astype(np.uint32)
    ptr = np.concatenate([[0], np.cumsum(plain.sum(axis=1))]).astype(np.int64)
    sparse = Compressed(ptr, entries, np.zeros(0))
    vectors = np.zeros((n, 2))
    rows = on_rows.Rows(dense, sparse, n_sparse, y, weight, [block], {5: (10, n)}, vectors)
    before = dense.copy()
    coef = rng.normal(size=(loss.n_outputs, 3 + n_sparse))
    intercept = rng.normal(size=loss.n_outputs)
    sets = on_rows.BinSegments(0, 7, segment_of_bin, 0)
    model = on_rows.RowModel(coef, intercept)
    sums = on_rows.segment_sums(rows, on_rows.SegmentTask(5, sets, 4, model, loss))
    x = np.column_stack([dense, plain, np.ones(n)])
    raw = x @ np.column_stack([coef, intercept]).T
    value, slope, curvature = loss.derivatives(y, raw[:, 0] if loss.n_outputs == 1 else raw)
    slope, curvature = slope.reshape(n, -1), curvature.reshape(n, -1)
    for s in range(4):
        own = 10 + np.flatnonzero(segment_of_bin[bins[10:]] == s)
        w, of_one = weight[own], sums.statistics[s]
        assert of_one[0] == len(own)
        np.testing.assert_allclose(of_one[1], w.sum(), atol=1e-13)
        columns = x[own, :-1]
        moments = [w @ columns, columns.sum(axis=0), w @ columns**2, (columns**2).sum(axis=0)]
        np.testing.assert_allclose(of_one[2 : 2 + 4 * columns.shape[1]], np.concatenate(moments))
        np.testing.assert_allclose(sums.loss[s], w @ value[own], atol=1e-13)
        np.testing.assert_allclose(sums.gradient[s], (w * slope[own].T) @ x[own], atol=1e-12)
        for gram, factor in zip(sums.hessian[s], curvature[own].T, strict=True):
            expected = np.tril((x[own].T * (w * factor)) @ x[own])
            np.testing.assert_allclose(np.tril(gram), expected, atol=1e-12)
    assert (rows.dense == before).all() and rows.spans == {5: (10, n)}


def test_a_column_that_is_constant_in_a_set_of_many_rows_does_not_vary_there():
    n = 40_000
    dense = np.where(np.arange(n)[:, None] < n // 2, [1.7, -2.1234], [0.3, 29.77])
    nothing = Compressed(np.zeros(n + 1, dtype=np.int64), np.zeros(0, np.uint32), np.zeros(0))
    bins = (np.arange(n) >= n // 2).astype(np.uint16)
    block = Compressed(np.arange(n + 1), bins, np.zeros(0), per_row=1)
    rows = on_rows.Rows(
        dense, nothing, 0, np.ones(n), np.ones(n), [block], {0: (0, n)}, np.zeros((n, 2))
    )
    sets = on_rows.BinSegments(0, 0, np.array([0, 1], dtype=np.uint16), 0)
    model = on_rows.RowModel(np.ones((1, 2)), np.zeros(1))
    sums = on_rows.segment_sums(rows, on_rows.SegmentTask(0, sets, 2, model, SquaredError()))
    size, moments = sums.statistics[:, :1], sums.statistics[:, 2:].reshape(2, 4, 2)
    np.testing.assert_allclose((moments[:, 0] / size) ** 2, moments[:, 2] / size, rtol=4e-15)


def test_a_fit_gives_up_the_linear_algebra_library():
    """Another thread may limit its threads afterwards, and a fit there is the same."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 12)), rng.normal(size=3000)
    here = regressor(max_depth=2).fit(X, y).tree_
    limited, elsewhere = [], []

    def work():
        with threadpool_limits(1, user_api="blas"):
            limited.extend(
                own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"
            )
        elsewhere.append(regressor(max_depth=2).fit(X, y).tree_)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert set(limited) == {1}
    np.testing.assert_array_equal(here.coef, elsewhere[0].coef)
    np.testing.assert_array_equal(here.loss, elsewhere[0].loss)


def blas_threads():
    return [own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"]


def test_fits_that_overlap_leave_the_threads_of_blas_as_they_were():
    """The second begins after the first and ends after it; both threads live on."""
    given = blas_threads()
    local._blas._set([2] * len(given))
    one, other = local.LocalBackend(None, 1), local.LocalBackend(None, 1)
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        for thread, step in (
            (first, one.__enter__),
            (second, other.__enter__),
            (first, partial(one.__exit__, None, None, None)),
        ):
            thread.submit(step).result()
            assert set(blas_threads()) == {1}
        second.submit(other.__exit__, None, None, None).result()
        assert set(blas_threads()) == {2}
    local._blas._set(given)
