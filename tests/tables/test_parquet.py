"""Parquet files as one table: what they may disagree on, and what is refused."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from partitions import assert_same_tree

from glassleaf import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.rows import pieces as partitioned
from glassleaf.tables import parquet
from glassleaf.tables.parquet import ParquetRows, RandomShare

N = 600


def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=N),
            "b": rng.integers(0, 9, N),
            "k": rng.choice(["x", "y", "z"], N),
            "t": rng.random(N) > 0.5,
        }
    )
    return X.assign(y=np.where(X["k"] == "x", X["a"], -X["a"]) + 0.1 * rng.normal(size=N))


def halves():
    whole = frame()
    return [
        pa.Table.from_pandas(half, preserve_index=False)
        for half in (whole.iloc[: N // 2], whole.iloc[N // 2 :])
    ]


def with_column(table, name, values):
    return table.set_column(table.schema.get_field_index(name), name, values)


def write(folder, tables):
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet")
    return folder


def fitted(X, y="y", weight=None, kind=ModelTreeRegressor):
    return kind(max_depth=2).fit(X, y, weight)


@pytest.mark.parametrize("other", [0, 1])
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("b", pa.float32()),
        ("b", pa.int8()),
        ("b", pa.decimal128(20, 0)),
        ("t", pa.int64()),
        ("k", pa.large_string()),
        ("k", pa.dictionary(pa.int32(), pa.string())),
        ("y", pa.decimal128(38, 20)),
    ],
)
def test_types_of_the_same_kind_may_differ(tmp_path, name, kind, other):
    tables = halves()
    tables[other] = with_column(tables[other], name, tables[other][name].cast(kind))
    whole = frame()
    expected = fitted(whole.drop(columns="y"), whole["y"])
    assert_same_tree(fitted(write(tmp_path, tables)).tree_, expected.tree_)


@pytest.mark.parametrize("empty", [0, 1])
@pytest.mark.parametrize("name", ["a", "k"])
def test_a_column_may_be_empty_in_a_file(tmp_path, name, empty):
    tables, whole = halves(), frame()
    tables[empty] = with_column(tables[empty], name, pa.nulls(N // 2))
    whole.loc[whole.index // (N // 2) == empty, name] = None
    expected = fitted(whole.drop(columns="y"), whole["y"])
    assert_same_tree(fitted(write(tmp_path, tables)).tree_, expected.tree_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.append_column("z", t["a"]), r"1.parquet has the column\(s\) z, which .*0"),
        (lambda t: t.drop_columns("b"), r"1.parquet lacks the column\(s\) b, which .*0"),
        (lambda t: with_column(t, "a", t["k"]), "1.parquet: column 'a' holds text, and numbers"),
        (lambda t: with_column(t, "y", t["k"]), "1.parquet: column 'y' holds text, and numbers"),
        (lambda t: with_column(t, "a", t["b"].cast("timestamp[s]")), "'a' holds dates, and"),
        (lambda t: t.append_column("a", t["a"]), "two columns of the name 'a'"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(tmp_path, change, message):
    first, second = halves()
    with pytest.raises((TypeError, ValueError), match=message):
        fitted(write(tmp_path, [first, change(second)]))


@pytest.mark.parametrize("content", [b"", b"PAR1 and then nothing", b"a,b\n1,2\n"])
def test_a_damaged_file_is_named(tmp_path, content):
    write(tmp_path, halves())
    (tmp_path / "2.parquet").write_bytes(content)
    with pytest.raises(ValueError, match="2.parquet is no Parquet file, or a damaged one"):
        fitted(tmp_path)


def test_weights_and_labels_that_cannot_be(tmp_path):
    first, second = halves()
    write(tmp_path, [first.append_column("w", first["k"]), second.append_column("w", second["k"])])
    with pytest.raises(TypeError, match="sample_weight must be numbers; 'w'"):
        fitted(tmp_path, weight="w")
    with pytest.raises(ValueError, match="the same column, 'y'"):
        fitted(tmp_path, weight="y")
    with pytest.raises(ValueError, match="no rows at"):
        fitted(write(tmp_path, [first.slice(0, 0), second.slice(0, 0)]))


def test_mixed_labels_of_dask_partitions(monkeypatch):
    mixed = partitioned.Labels({0: 1, "1": 1}, {0: 1.0, "1": 1.0}, np.dtype(object))

    class Backend:
        def sum(self, function, tasks):
            return [mixed]

    with pytest.raises(TypeError, match="text in some partitions and numbers in others"):
        ModelTreeClassifier()._encode_pieces(Backend())


@pytest.mark.parametrize("what", ["gone", "truncated", "replaced"])
def test_a_file_that_changes_during_the_fit_is_named(tmp_path, monkeypatch, what):
    first, second = halves()
    write(tmp_path, [first, second])
    late = tmp_path / "1.parquet"
    usual = partitioned.read_part

    def read(X, *others):
        if X.path.endswith("0.parquet"):
            if what == "gone":
                late.unlink()
            elif what == "truncated":
                os.truncate(late, 2000)
            else:
                pq.write_table(second.slice(0, 100), late)
        return usual(X, *others)

    monkeypatch.setattr(partitioned, "read_part", read)
    model = ModelTreeRegressor()
    with pytest.raises((ValueError, OSError), match="1.parquet (is gone|cannot be read)"):
        model.fit(tmp_path, "y")
    assert not hasattr(model, "tree_")


def test_folders_and_files_that_other_programs_set_aside_do_not_count(tmp_path):
    write(tmp_path, halves())
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "x.parquet").write_bytes(b"half of it")
    (tmp_path / ".hidden.parquet").write_bytes(b"nothing")
    (tmp_path / "_SUCCESS").write_bytes(b"")
    assert [path.name for path in ParquetRows(tmp_path).files] == ["0.parquet", "1.parquet"]


def test_an_index_without_a_name_is_no_column(tmp_path):
    whole = frame()
    expected = fitted(whole.drop(columns="y"), whole["y"])
    shuffled = whole.set_axis(np.random.default_rng(0).permutation(N))
    shuffled.iloc[: N // 2].to_parquet(tmp_path / "0.parquet")
    named = shuffled.iloc[N // 2 :].rename_axis("__null_dask_index__")
    named.to_parquet(tmp_path / "1.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "0.parquet").names
    assert_same_tree(fitted(tmp_path).tree_, expected.tree_)


def test_many_small_files_are_read_together(tmp_path, monkeypatch):
    whole = frame()
    expected = fitted(whole.drop(columns="y"), whole["y"])
    table = pa.Table.from_pandas(whole, preserve_index=False)
    for number in range(20):
        pq.write_table(table.slice(30 * number, 30), tmp_path / f"{number:02d}.parquet")
    rows = ParquetRows(tmp_path)
    assert [piece.n_rows for piece in rows.pieces(130)] == [30] * 20
    monkeypatch.setattr(parquet, "_MANY_PIECES", 10)
    assert [piece.n_rows for piece in rows.pieces(130)] == [120] * 5
    assert_same_tree(fitted(tmp_path).tree_, expected.tree_)


def test_rows_and_columns_left_out(tmp_path):
    whole = frame()
    write(tmp_path, halves())
    kept = ParquetRows(tmp_path, frozenset({"t"}), held=RandomShare(0.25, 7, taken=False))
    held = ParquetRows(tmp_path, frozenset({"t"}), held=RandomShare(0.25, 7, taken=True))
    parts = [
        [pa.concat_tables([piece.read(["a", "y"]) for piece in rows.pieces(most)])
         for most in (37, 1000)]
        for rows in (kept, held)
    ]  # fmt: skip
    for first, second in parts:  # however the rows are cut
        assert first.equals(second)
    taken = whole["a"].isin(parts[1][0]["a"].to_pylist())
    assert sorted(parts[0][0]["a"].to_pylist()) == sorted(whole["a"][~taken])
    assert 0.2 < taken.mean() < 0.3
    expected = fitted(whole[["a", "b", "k"]][~taken], whole["y"][~taken])
    assert_same_tree(fitted(kept).tree_, expected.tree_)


def test_unusable_rows_may_be_left_out(tmp_path):
    whole = frame().assign(w=1.0)
    whole.loc[3, "y"] = np.nan
    whole.loc[4, "w"] = -1.0
    whole.loc[5, "w"] = np.nan
    whole.loc[400, "a"] = np.inf
    good = whole.drop(index=[3, 4, 5, 400])
    expected = fitted(good.drop(columns=["y", "w"]), good["y"])
    table = pa.Table.from_pandas(whole, preserve_index=False)
    write(tmp_path, [table.slice(0, 300), table.slice(300)])
    rows = ParquetRows(tmp_path, skip_unusable=True)
    assert_same_tree(fitted(rows, weight="w").tree_, expected.tree_)


def test_names_of_folders_are_no_columns_and_that_is_said(tmp_path, caplog):
    for k in (0, 1):
        (tmp_path / f"k={k}").mkdir()
        pd.DataFrame({"a": [1.0, 2.0], "y": [1.0, 3.0]}).to_parquet(
            tmp_path / f"k={k}" / "x.parquet"
        )
    assert ParquetRows(tmp_path).schema.names == ["a", "y"]
    assert "k=0" in caplog.text
