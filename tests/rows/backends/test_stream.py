"""Rows on disk, and summaries that are added: the same tree, within bounded memory."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from partitions import CASES, assert_same_histograms, assert_same_tree, case, cut, named, problem

from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf._kernels import scratch
from glassleaf.rows import pieces as partitioned
from glassleaf.rows.backends import stream, summary_limit
from glassleaf.tables import summaries
from glassleaf.tables.summaries import moments_of, summarize_numbers, summarize_target, values_of


def write(frame, folder, n_files):
    folder.mkdir(exist_ok=True)
    for number, piece in enumerate(cut(frame, n_files)):
        piece.to_parquet(folder / f"{number:03d}.parquet")
    return folder


@pytest.mark.parametrize("n_files", [1, 2, 7])
@pytest.mark.parametrize("name", CASES)
def test_a_folder_gives_the_tree_of_the_table(tmp_path, name, n_files):
    model, X, target, weight = case(name, n=2000, backend="stream")
    frame, *names = named(X, target, weight)
    model.fit(str(write(frame, tmp_path, n_files)), *names)
    whole, *_ = case(name)
    whole.fit(X, target, sample_weight=weight)
    assert_same_tree(model.tree_, whole.tree_)
    assert_same_histograms(model.model_.histograms, whole.model_.histograms)
    np.testing.assert_array_equal(model.feature_names_in_, whole.feature_names_in_)
    score = getattr(model, "decision_function", model.predict)(X)
    expected = getattr(whole, "decision_function", whole.predict)(X)
    np.testing.assert_allclose(score, expected, rtol=1e-6, atol=1e-8)


def test_row_groups_that_are_too_large_are_cut(tmp_path, monkeypatch):
    X, y, _ = problem()
    whole = ModelTreeRegressor().fit(X, y)
    folder = write(X.assign(_y=y), tmp_path, 2)
    monkeypatch.setattr(partitioned, "_PIECE_BYTES", 8 * 6 * 300)
    monkeypatch.setattr(partitioned, "_FEWEST_ROWS", 1)
    found = partitioned.find_pieces(folder, "_y", None, True)
    assert [item[0].n_rows for item in found.items] == [300, 300, 150] * 2
    assert_same_tree(ModelTreeRegressor().fit(folder, "_y").tree_, whole.tree_)


def test_files_may_be_empty_or_ordered_differently(tmp_path):
    X, y, _ = problem()
    frame = X.assign(_y=y)
    write(frame, tmp_path, 2)
    frame.iloc[750:][frame.columns[::-1]].to_parquet(tmp_path / "001.parquet")
    frame.iloc[:0].to_parquet(tmp_path / "002.parquet")
    whole = ModelTreeRegressor().fit(X, y)
    assert_same_tree(ModelTreeRegressor().fit(tmp_path, "_y").tree_, whole.tree_)


def test_one_class_or_few_categories_in_a_file_do_no_harm(tmp_path):
    X, y, _ = problem()
    order = np.lexsort([X["kind"].fillna(""), y > 0])
    X, y = X.iloc[order].reset_index(drop=True), y[order]
    whole = ModelTreeClassifier(max_depth=2).fit(X, y > 0)
    folder = write(X.assign(_y=y > 0), tmp_path, 7)
    assert_same_tree(ModelTreeClassifier(max_depth=2).fit(folder, "_y").tree_, whole.tree_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.assign(a="text"), "'a' holds text, and numbers elsewhere"),
        (lambda frame: frame.assign(kind=1.0), "'kind' holds numbers, and text elsewhere"),
        (lambda frame: frame.drop(columns="b"), "lacks the column.* b"),
        (lambda frame: frame.assign(_y=np.nan), "y contains NaN"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path, change, message):
    X, y, _ = problem(400)
    write(X.assign(_y=y), tmp_path, 2)
    change(X.assign(_y=y).iloc[200:]).to_parquet(tmp_path / "001.parquet")
    model = ModelTreeRegressor()
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(tmp_path, "_y")
    assert not hasattr(model, "tree_")


def test_what_is_not_there_or_not_supported_is_said(tmp_path):
    X, y, _ = problem(300)
    with pytest.raises(FileNotFoundError, match="no Parquet files"):
        ModelTreeRegressor().fit(tmp_path, "_y")
    write(X.assign(_y=y), tmp_path, 1)
    with pytest.raises(ValueError, match="no column 'z'"):
        ModelTreeRegressor().fit(tmp_path, "z")
    with pytest.raises(TypeError, match="name of a column"):
        ModelTreeRegressor().fit(tmp_path, y)
    with pytest.raises(ValueError, match="backend='spark' must be one of"):
        ModelTreeRegressor(backend="spark").fit(X, y)
    with pytest.raises(TypeError, match="table in memory"):
        ModelTreeRegressor(backend="dask").fit(X, y)


def test_nothing_is_left_on_disk(tmp_path, monkeypatch):
    X, y, _ = problem(500)
    folder = write(X.assign(_y=y), tmp_path / "data", 2)
    monkeypatch.setattr(stream.tempfile, "tempdir", str(tmp_path))
    ModelTreeRegressor(max_depth=1).fit(folder, "_y")
    with pytest.raises(ValueError, match="needs y >= 0"):
        ModelTreeRegressor(loss="poisson").fit(folder, "_y")
    assert os.listdir(tmp_path) == ["data"]


def test_a_stored_shard_is_changed_in_place(tmp_path):
    shard = stream.StoredShard(tmp_path / "0.shard")
    shard.store({"a": np.arange(1000.0), "b": "text"})
    size = (tmp_path / "0.shard").stat().st_size
    content = shard.open()
    content["a"][3] = -1.0
    content["b"] = "other"
    shard.store(content)
    del content
    shard.close()
    again = shard.open()
    assert again["a"][3] == -1.0 and again["b"] == "other"
    assert (tmp_path / "0.shard").stat().st_size == size


def test_what_a_shard_was_is_not_kept(tmp_path):
    shard = stream.StoredShard(tmp_path / "0.shard")
    shard.store({"a": np.arange(1000.0), "none": np.zeros(0)})
    content = shard.open()
    shard.store({"b": content["a"] + 1.0, "none": content["none"]})
    del content
    shard.close()
    assert (tmp_path / "0.shard").stat().st_size == 8000
    assert shard.open()["b"][-1] == 1000.0


def test_every_pass_is_reported(tmp_path, caplog):
    X, y, _ = problem(500)
    folder = write(X.assign(_y=y), tmp_path, 2)
    with caplog.at_level("DEBUG", logger="glassleaf.progress"):
        ModelTreeRegressor(max_depth=1).fit(folder, "_y")
    found = [record.progress for record in caplog.records if hasattr(record, "progress")]
    assert [own.n_passes for own in found] == [0, *range(len(found) - 1)]  # two files are read
    assert str(found[0]).startswith("reading: read_part")
    assert {own.level for own in found} >= {-1, 0}
    sums = next(own for own in found if own.name == "model_sums" and own.level == 0)
    assert sums.nodes == (0,) and sums.n_rows == 500 and sums.rows_per_second > 0
    assert "rows/s" in str(sums)


# --- summaries -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_moments_of_parts_are_those_of_the_whole(n_parts):
    rng = np.random.default_rng(0)
    values, weight = 1e6 + rng.normal(size=1000), rng.uniform(0, 2, 1000)
    parts = np.array_split(np.arange(1000), n_parts)
    total = moments_of(np.zeros(0), None)
    for rows in parts:
        total = total + moments_of(values[rows], weight[rows])
    assert total.mean == pytest.approx(np.average(values, weights=weight), rel=1e-14)
    spread = np.sqrt(np.average((values - total.mean) ** 2, weights=weight))
    assert total.spread == pytest.approx(spread, rel=1e-9)


@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e200])
def test_missing_values_are_counted_by_weight(unit):
    values = np.array([1.0, np.nan, 3.0, np.nan])
    found = summarize_numbers(values, unit * np.array([1.0, 1.0, 2.0, 2.0]), True, np.inf)
    assert found.states[0].mean == found.states[0].spread == pytest.approx(0.5)
    assert found.moments.mean == pytest.approx(7 / 3)
    assert found.n_missing == 2


@pytest.mark.parametrize("weight", [None, np.ones(3)])
def test_a_column_may_be_missing_altogether(weight):
    found = summarize_numbers(np.full(3, np.nan), weight, True, np.inf)
    assert (found.states[0].mean, found.states[0].spread) == (1.0, 0.0)
    assert found.moments.weight == 0.0 and len(found.values.values) == 0


def test_rows_without_weight_say_nothing():
    found = summarize_numbers(np.array([1.0, 2.0, np.nan]), np.array([0.0, 0.0, 1.0]), True, np.inf)
    assert found.moments.weight == 0.0
    assert (found.states[0].mean, found.states[0].spread) == (1.0, 0.0)


@pytest.mark.parametrize("heavy", [False, True])
def test_the_error_of_a_short_summary_is_what_it_says(heavy):
    rng = np.random.default_rng(0)
    values = rng.normal(size=40_000)
    if heavy:
        values[rng.random(40_000) < 0.3] = 0.5
    parts = [values_of(part, None, 512) for part in np.array_split(values, 8)]
    while len(parts) > 1:
        parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=True)]
    found = parts[0]
    assert len(found.values) <= 512
    assert 0 < found.error <= 4 * 40_000 / 256 + 1e-6  # one slice per level of the tree
    exact = np.searchsorted(np.sort(values), found.values, side="right")
    assert np.abs(np.cumsum(found.weight) - exact).max() <= found.error
    assert found.weight.sum() == pytest.approx(40_000)


def test_a_short_summary_of_targets_keeps_mean_and_variance():
    y = np.exp(np.random.default_rng(0).normal(size=20_000))
    weight = np.random.default_rng(1).uniform(0.5, 1.5, 20_000)
    total = summarize_target(y[:7000], weight[:7000], 0, 256)
    total = total + summarize_target(y[7000:], weight[7000:], 1, 256)
    mean = np.average(y, weights=weight)
    assert len(total.y) <= 256 and total.n_rows == 20_000
    assert np.average(total.y, weights=total.weight) == pytest.approx(mean, rel=1e-10)
    spread = np.sqrt(np.average((total.y - mean) ** 2, weights=total.weight))
    expected = np.sqrt(np.average((y - mean) ** 2, weights=weight))
    assert spread == pytest.approx(expected, rel=1e-10)


def test_long_columns_split_near_where_they_would_exactly(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = np.where(X[:, 0] > 0.25, X[:, 1], -X[:, 1]) + 0.1 * rng.normal(size=20_000)
    columns = {f"x{j}": X[:, j] for j in range(3)}
    pq.write_table(pa.table(columns | {"y": y}), tmp_path / "a.parquet", row_group_size=2_000)
    monkeypatch.setattr(partitioned, "_PIECE_BYTES", 8 * 3 * 2_000)
    monkeypatch.setattr(partitioned, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(stream, "summary_limit", lambda n_columns: 4096)
    whole = ModelTreeRegressor(max_depth=1).fit(pd.DataFrame(columns), y)
    streamed = ModelTreeRegressor(max_depth=1).fit(tmp_path, "y")
    assert streamed.tree_.feature[0] == whole.tree_.feature[0] == 0
    share = [np.mean(X[:, 0] <= model.tree_.threshold[0]) for model in (whole, streamed)]
    assert abs(share[0] - share[1]) < 5 * 2 / 4096 + 1 / 255
    assert summary_limit(1) > 200_000


@pytest.mark.parametrize(
    "given",
    [
        np.array([3, 1, 3, 2], dtype=np.int64),
        np.array([3, 1, 3, 2], dtype=np.float32),
        np.array([3.0, 0, 1, 0, 3, 0, 2, 0])[::2],
        np.array([3.0, 1, 3, 2]).reshape(2, 2).T.ravel()[[0, 2, 1, 3]],
    ],
    ids=["whole", "single", "strided", "taken"],
)
def test_values_of_arrays_of_any_kind(given):
    given.setflags(write=False)
    weight = np.arange(8.0)[::2]
    weight.setflags(write=False)
    found = values_of(given, weight)
    assert found.values.tolist() == [1.0, 2.0, 3.0] and found.weight.tolist() == [2.0, 6.0, 4.0]
    assert values_of(given, None).weight.tolist() == [1.0, 1.0, 2.0]


def test_long_columns_leave_no_memory_behind(monkeypatch):
    scratch.clear()
    monkeypatch.setattr(summaries, "_SHORT_COLUMN", 100)
    values_of(np.arange(101.0), None)
    assert "sorting" not in vars(scratch._memory)
    values_of(np.arange(100.0), None)
    assert "sorting" in vars(scratch._memory)
