"""Rows on a Dask cluster: the same tree, lazy predictions, and workers that die."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import needed
import numpy as np
import pytest
from partitions import assert_same_histograms, assert_same_tree, case, named, problem
from sklearn.base import clone

import glassleaf
from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.errors import BackendError
from glassleaf.rows.backends import dask as backend

distributed = needed.module("distributed")
da = needed.module("dask.array")
dd = needed.module("dask.dataframe")


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize("n_partitions", [1, 2, 7])
@pytest.mark.parametrize("name", ["regression", "poisson", "binary", "multiclass"])
def test_partitions_give_the_tree_of_the_table(client, name, n_partitions):
    depth = 2 if name == "regression" else 1
    model, X, target, weight = case(name, max_depth=depth, backend=client)
    frame, *names = named(X, target, weight)
    model.fit(dd.from_pandas(frame, npartitions=n_partitions, sort=False), *names)
    whole, *_ = case(name, max_depth=depth)
    whole.fit(X, target, weight)
    assert_same_tree(model.tree_, whole.tree_)
    assert_same_histograms(model.model_.histograms, whole.model_.histograms)
    if hasattr(whole, "classes_"):
        np.testing.assert_array_equal(model.classes_, whole.classes_)


def test_arrays_and_separate_targets(client):
    X, y, weight = problem()
    numbers = X[["a", "b", "heavy"]].to_numpy()
    whole = ModelTreeRegressor(max_depth=1).fit(numbers, y, sample_weight=weight)
    chunks = (500, 2)
    spread = ModelTreeRegressor(max_depth=1, backend=client).fit(
        da.from_array(numbers, chunks), da.from_array(y, 500), da.from_array(weight, 500)
    )
    assert_same_tree(spread.tree_, whole.tree_)
    assert spread.n_features_in_ == 3


def test_predictions_are_lazy(client):
    X, y, _ = problem()
    frame = dd.from_pandas(X, npartitions=3, sort=False)
    model = ModelTreeClassifier(max_depth=1).fit(X, y > 0)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "apply"):
        lazy = getattr(model, method)(frame)
        assert isinstance(lazy, da.Array)
        found = lazy.compute(scheduler="synchronous")
        np.testing.assert_array_equal(found, getattr(model, method)(X))
    numbers = X[["a", "b"]].to_numpy()
    regressor = ModelTreeRegressor(max_depth=1).fit(numbers, y)
    lazy = regressor.predict(da.from_array(numbers, (400, 2)))
    assert lazy.shape == (1500,)
    expected = regressor.predict(numbers)
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), expected)


def test_a_model_fitted_on_a_cluster_predicts_on_it(client, tmp_path):
    X, y, _ = problem(300)
    frame = dd.from_pandas(X, npartitions=2, sort=False)
    model = ModelTreeRegressor(max_depth=1, backend=client).fit(frame, da.from_array(y, 150))
    expected = model.predict(X)
    np.testing.assert_array_equal(client.compute(model.predict(frame)).result(), expected)
    assert clone(model).backend is model.backend is client
    # A connection is no part of a model that is stored.
    model.save(tmp_path / "model.json")
    for other in (pickle.loads(pickle.dumps(model)), glassleaf.load(tmp_path / "model.json")):
        assert other.backend == "local"
        np.testing.assert_array_equal(other.predict(X), expected)


def test_rows_are_not_collected(client):
    X, y, _ = problem(100)
    frame = dd.from_pandas(X, npartitions=2, sort=False)
    model = ModelTreeRegressor(max_depth=0).fit(X, y)
    for use in (model.decision_path, lambda rows: glassleaf.explain(model, rows)):
        with pytest.raises(TypeError, match="computed elsewhere; only a table in memory"):
            use(frame)
    for column in (frame["a"], da.from_array(y, 50)):
        with pytest.raises(ValueError, match="X has 1 dimension"):
            ModelTreeRegressor(backend=client).fit(column, da.from_array(y, 50))


def test_odd_partitions(client):
    X, y, _ = problem(900)
    frame = X.assign(_y=y)
    pieces = [frame.iloc[:400], frame.iloc[:0], frame.iloc[400:][frame.columns[::-1]]]
    whole = ModelTreeRegressor(max_depth=1).fit(X, y)
    meta = frame.iloc[:0]
    given = dd.from_map(lambda k: pieces[k], [0, 1, 2], meta=meta, enforce_metadata=False)
    spread = ModelTreeRegressor(max_depth=1, backend=client).fit(given, "_y")
    assert_same_tree(spread.tree_, whole.tree_)
    pieces[2] = pieces[2].assign(a="text")
    given = dd.from_map(lambda k: pieces[k], [0, 1, 2], meta=meta, enforce_metadata=False)
    with pytest.raises(TypeError, match="Partition 2: column 'a' holds text"):
        ModelTreeRegressor(backend=client).fit(given, "_y")


def test_different_partitions_of_the_target_are_refused(client):
    X, y, _ = problem(100)
    frame = dd.from_pandas(X, npartitions=2, sort=False)
    with pytest.raises(ValueError, match="X has 2 partitions and y has 3"):
        ModelTreeRegressor(backend=client).fit(frame, da.from_array(y, 40))
    with pytest.raises(ValueError, match="set it to 'dask'"):
        ModelTreeRegressor().fit(frame, da.from_array(y, 50))
    with pytest.raises(TypeError, match="must be a Dask collection"):
        ModelTreeRegressor(backend=client).fit(frame, y)


def test_no_change_is_made_twice():
    shard = backend._Shard([1])
    backend._each(shard, 0, list.append, [2, 3])
    assert (shard.content, shard.changes) == ([1, 2, 3], 1)
    with pytest.raises(BackendError, match="Fit again"):
        backend._each(shard, 0, list.append, [2])
    with pytest.raises(ValueError):
        backend._each(shard, 1, list.remove, [2, 2])
    with pytest.raises(BackendError, match="Fit again"):
        backend._results(shard, 2, list.count, [1])


def test_a_worker_is_killed_and_the_tree_is_the_same(client, monkeypatch):
    """A real process dies after rows have been routed: its shards are read and routed again."""
    X, y, _ = problem()
    whole = ModelTreeRegressor(max_depth=2).fit(X, y)
    killed = []
    total = backend.DaskBackend._total

    def kill_after_routing(self, function, tasks):
        if self._n_changes >= 4 and not killed:  # built, vectors set, routed, vectors set again
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)
        return total(self, function, tasks)

    monkeypatch.setattr(backend.DaskBackend, "_total", kill_after_routing)
    frame = dd.from_pandas(X.assign(_y=y), npartitions=4, sort=False)
    spread = ModelTreeRegressor(max_depth=2, backend=client).fit(frame, "_y")
    assert killed
    assert_same_tree(spread.tree_, whole.tree_)


def test_no_scheduler_is_a_clear_error(monkeypatch):
    monkeypatch.setattr(backend, "_PATIENCE", 2.0)
    X, y, _ = problem(100)
    frame = dd.from_pandas(X.assign(_y=y), npartitions=2, sort=False)
    start = time.monotonic()
    with pytest.raises(BackendError, match="No Dask scheduler answers"):
        ModelTreeRegressor(backend="tcp://127.0.0.1:9").fit(frame, "_y")
    assert time.monotonic() - start < 20


def test_a_scheduler_that_dies_is_a_clear_error(tmp_path, monkeypatch):
    file = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen(
        [*dask, "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file], **quiet
    )
    worker = subprocess.Popen(
        [*dask, "worker", "--no-nanny", "--no-dashboard", "--nthreads", "1",
         "--scheduler-file", file, "--local-directory", tmp_path], **quiet
    )  # fmt: skip
    total = backend.DaskBackend._total

    def kill_when_built(self, function, tasks):
        if self._n_changes >= 2:
            scheduler.kill()
        return total(self, function, tasks)

    monkeypatch.setattr(backend.DaskBackend, "_total", kill_when_built)
    monkeypatch.setattr(backend, "_PATIENCE", 5.0)
    X, y, _ = problem(300)
    frame = dd.from_pandas(X.assign(_y=y), npartitions=2, sort=False)
    try:
        with distributed.Client(scheduler_file=str(file), timeout=30, set_as_default=False) as own:
            own.wait_for_workers(1, timeout=30)
            start = time.monotonic()
            with pytest.raises(BackendError, match="lost this fit"):
                ModelTreeRegressor(backend=own).fit(frame, "_y")
            assert time.monotonic() - start < 60
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()


def test_a_cluster_of_its_own(tmp_path):
    X, y, _ = problem(300)
    X.assign(_y=y).to_parquet(tmp_path / "a.parquet")
    whole = ModelTreeRegressor(max_depth=1).fit(X, y)
    own = ModelTreeRegressor(max_depth=1, backend="dask", n_jobs=1).fit(tmp_path, "_y")
    assert_same_tree(own.tree_, whole.tree_)


def test_an_error_on_a_worker_is_passed_on(client, tmp_path):
    X, y, _ = problem(100)
    X.assign(_y=y).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="needs y >= 0"):
        ModelTreeRegressor(loss="poisson", backend=client).fit(tmp_path, "_y")
    model = ModelTreeRegressor(max_depth=0, backend=client).fit(tmp_path, "_y")
    assert model.tree_.n_samples[0] == 100
    X.assign(_y=np.nan).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="b.parquet: Input y contains NaN"):
        ModelTreeRegressor(backend=client).fit(tmp_path, "_y")


INTERRUPTED = """
    import sys, time
    import numpy as np
    import dask.array as da
    from glassleaf import ModelTreeRegressor
    from glassleaf.rows.backends import dask as backend

    def slow(self, function, tasks, total=backend.DaskBackend._total):
        workers = self._client.run(__import__("os").getpid)
        print("fitting", *workers.values(), flush=True)
        time.sleep(1)
        return total(self, function, tasks)

    backend.DaskBackend._total = slow

    if __name__ == "__main__":
        X = da.random.normal(size=(1000, 3), chunks=(500, 3))
        ModelTreeRegressor(backend="dask", n_jobs=1).fit(X, X[:, 0])
"""


def test_an_interrupted_fit_leaves_no_process(tmp_path):
    path = tmp_path / "interrupted.py"
    path.write_text(textwrap.dedent(INTERRUPTED))
    running = subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    line = running.stdout.readline()
    assert line.startswith("fitting")
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode != 0
    workers = [int(number) for number in line.split()[1:]]
    deadline = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{pid}") for pid in workers):
        assert time.monotonic() < deadline, "workers are still there"
        time.sleep(0.2)
