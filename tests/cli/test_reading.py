"""Readers: every format gives the same table, and every bad row has its number."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from glassleaf.cli.failures import CallError, DataError
from glassleaf.cli.options import OnError, ReadOptions
from glassleaf.cli.reading import delimited
from glassleaf.cli.reading.cells import cleaned, parsed_numbers
from glassleaf.cli.reading.files import read


def read_all(
    path: Path, on_error: OnError = OnError.skip, **options: Any
) -> tuple[list[str], list[tuple[Any, ...]], list[int], int]:
    rows, numbers = [], []
    with read(str(path), ReadOptions(on_error=on_error, **options), lambda name: False) as source:
        for chunk in source.chunks:
            source.problems.settle()
            columns = [chunk.table[name].to_pylist() for name in source.names]
            rows += list(zip(*columns, strict=True))
            numbers += list(chunk.numbers)
    return source.names, rows, [int(number) for number in numbers], source.problems.n_skipped


@pytest.fixture(params=[None, 200, 50])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of the usual size, of a few records, and of hardly one."""
    if request.param is not None:
        monkeypatch.setattr(delimited, "_BLOCK", request.param)
        monkeypatch.setattr(delimited, "_BLOCK_PER_COLUMN", 1)


def nasty_text(seed: int) -> tuple[bytes, list[str], list[tuple[str, ...]]]:
    """A CSV with quotes, line breaks in quotes and blank lines, and its rows."""
    draw = random.Random(seed)
    cells = [
        "",
        "a",
        "1.5",
        "x, y",
        'say "hi"',
        "two\nlines",
        "tab\tbed",
        "ümlaut",
        '5" pipe',
        " pad ",
    ]
    out, rows = io.StringIO(), []
    out.write("one,two,three\n")
    for _ in range(40):
        if draw.random() < 0.1:
            out.write("\n")
        rows.append(tuple(draw.choice(cells) for _ in range(3)))
        csv.writer(out, lineterminator="\n").writerow(rows[-1])
    return out.getvalue().encode(), ["one", "two", "three"], rows


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("seed", range(5))
def test_rows_and_numbers_of_nasty_texts(tmp_path: Path, seed: int) -> None:
    content, names, rows = nasty_text(seed)
    path, numbers = tmp_path / "nasty.csv", list(range(2, 42))
    for text in (content, content.rstrip(b"\n"), b"\xef\xbb\xbf" + content):
        path.write_bytes(text)
        assert read_all(path) == (names, rows, numbers, 0)
    path.write_bytes(content.replace(b"\n", b"\r\n"))
    found = read_all(path)
    assert found[1] == [tuple(cell.replace("\n", "\r\n") for cell in row) for row in rows]
    assert found[2] == numbers
    spoilt = content.replace(b"one,two,three\n", b"one,two,three\n1,2\n") + b"1,2,3,4\n,,,,\n"
    path.write_bytes(spoilt)
    assert read_all(path) == (names, rows, [number + 1 for number in numbers], 2)


@pytest.mark.usefixtures("block")
def test_rows_of_another_length_are_counted_with_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text('a,b\n1,2\n3\n"4\n",5\n6,7,8\n\n9,10\n')
    assert read_all(path) == (["a", "b"], [("1", "2"), ("4\n", "5"), ("9", "10")], [2, 4, 6], 2)
    with pytest.raises(DataError, match=r"bad.csv, record 3: 1 field, but the header has 2"):
        read_all(path, on_error=OnError.stop)


def test_many_rows_of_another_length(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n1,2\n" + "3\n" * 300_000)
    assert read_all(path)[1:] == ([("1", "2")], [2], 300_000)
    with pytest.raises(DataError, match=r"(?s)record 3: 1 field.*\.\.\. and 995 more rows so far"):
        read_all(path, on_error=OnError.stop)


def test_wide_tables(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    names = [f"a column with the number {k}" for k in range(30_000)]
    rows = [tuple(f"{k}.{k:0>25}" for k in range(30_000))] * 3
    path.write_text("\n".join(map(",".join, [names, *rows])))
    assert path.stat().st_size / 4 > delimited._BLOCK
    assert read_all(path) == (names, rows, [2, 3, 4], 0)


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("opened", [b'"', b'1,"', b'1,2,"', b'"x\n",2,"'])
def test_a_quote_that_is_never_closed(tmp_path: Path, opened: bytes) -> None:
    path = tmp_path / "bad.csv"
    for rest in (b"", b"\n", b'x""', b"3,4\n" * 100):
        path.write_bytes(b"a,b\n" + b"1,2\n" * 30 + opened + rest)
        with pytest.raises(DataError, match="record 32: a quote is opened and never closed"):
            read_all(path)
    path.write_bytes(b'a,"b\n1,2\n')
    with pytest.raises(DataError, match="record 1: a quote is opened and never closed"):
        read_all(path)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst", "t.csv.bz2", "t.tsv", "t.txt"])
def test_text_formats(tmp_path: Path, name: str) -> None:
    content = b"a,b\n1,x\n2,y\n"
    if name in ("t.tsv", "t.txt"):
        content = content.replace(b",", b"\t" if name == "t.tsv" else b";")
    suffix = Path(name).suffix
    if suffix == ".gz":  # two members, as `cat a.gz b.gz` makes them
        content = gzip.compress(content[:6]) + gzip.compress(content[6:])
    elif suffix == ".zst":
        content = pa.compress(content, "zstd", asbytes=True)
    elif suffix == ".bz2":
        content = bz2.compress(content)
    path = tmp_path / name
    path.write_bytes(content)
    assert read_all(path) == (["a", "b"], [("1", "x"), ("2", "y")], [2, 3], 0)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream", "feather", "parquet.gz"])
def test_typed_formats(tmp_path: Path, kind: str) -> None:
    table = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})
    path = tmp_path / f"t.{kind}"
    if kind.startswith("parquet"):
        pyarrow.parquet.write_table(table, path, row_group_size=2)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, str(path))
    else:
        make = pyarrow.ipc.new_stream if kind == "stream" else pyarrow.ipc.new_file
        with make(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    if kind.endswith(".gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    assert read_all(path) == (["a", "b"], [(1, "x"), (2, None), (3, "z")], [1, 2, 3], 0)


def test_encodings_and_delimiters(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("größe|b\n1|ä\n".encode("latin-1"))
    assert read_all(path, encoding="latin-1")[1] == [("1", "ä")]
    with pytest.raises(DataError, match=r"t.csv, line 1: the byte 0xf6 .* --encoding latin-1"):
        read_all(path)
    path.write_bytes("a,b\n1,ä\n".encode("utf-16"))
    assert read_all(path, encoding="utf-16")[1] == [("1", "ä")]
    with pytest.raises(DataError, match="--encoding utf-16"):
        read_all(path)
    path.write_bytes(b"a b\n1 2\n")
    assert read_all(path, delimiter="space")[1] == [("1", "2")]
    with pytest.raises(CallError, match="--delimiter"):
        read_all(path, delimiter="::")
    path.write_bytes(b"a,b\r1,2\r3,4\r")
    assert read_all(path)[1:3] == ([("1", "2"), ("3", "4")], [2, 3])


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for content, words in (
        (b"", "is empty"),
        (b"a,a\n1,2\n", "'a' occurs 2 times"),
        (b'a,b\n1,"2\n3,4\n', "record 2: a quote is opened and never closed"),
        (b"a,b\n1,\xff\n", "line 2: the byte 0xff"),
        (gzip.compress(b"a,b\n" * 1000)[:-9], "runcated"),
        (b"PK\x03\x04....", "Excel"),
        (b"PAR1 but no more", "cannot be read"),
        (b"ARROW1 but no more", "cannot be read"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=words):
            read_all(path)
    with pytest.raises(CallError, match=r"no file '.*/t.cvs': did you mean '.*/t.csv'\?"):
        read_all(tmp_path / "t.cvs")
    with pytest.raises(CallError, match="folder"):
        read_all(tmp_path)


def test_numbers() -> None:
    text = cleaned(
        pa.array(["1", " 2.5 ", "NA", "", None, "-1e3", "+.5", "x", "1e999", "0x1", "nan"])
    )
    values, bad = parsed_numbers(text)
    np.testing.assert_array_equal(values[:7], [1, 2.5, np.nan, np.nan, np.nan, -1000, 0.5])
    assert bad.tolist() == [7, 8, 9]
