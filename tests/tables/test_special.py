"""Special values in memory: NaNs that say which."""

import numpy as np
import pandas as pd

from glassleaf.tables.coded import with_codes
from glassleaf.tables.reading import read_table
from glassleaf.tables.special import state_value, states_of, with_states
from glassleaf.tables.table import Column, raw_matrix

SPECIAL = ((-9.0, "no record"), (-8.0, "none"))


def test_values_become_states_and_keep_them():
    given = np.array([1.0, -9.0, np.nan, -8.0, -9.0])
    found = with_states(given, SPECIAL)
    assert states_of(found).tolist() == [-1, 1, 0, 2, 1]
    assert given[1] == -9.0  # a table's own values are not written to
    assert states_of(with_states(found, SPECIAL)).tolist() == [-1, 1, 0, 2, 1]
    assert states_of(np.column_stack([found, found])[::-1])[:, 1].tolist() == [1, 2, 0, 1, -1]
    assert with_states(given, ()) is given


def test_other_nans_are_missing():
    bits = np.array([0x7FF00000000007A2, 0xFFF8000000000000, 0x7FF8000000000001], dtype=np.uint64)
    assert states_of(bits.view(np.float64)).tolist() == [0, 0, 0]
    assert np.isnan(state_value(3))


def test_a_coded_table_is_read_as_a_later_one():
    frame = pd.DataFrame({"x": [1, -9, -8], "t": ["a", "b", "a"]})
    table = with_codes(read_table(frame), [SPECIAL, ()])
    columns = [Column("x", special=SPECIAL), Column("t", ("a", "b"))]
    for taken in (table, table.take(slice(0, 3))):
        assert states_of(taken.numeric(0)).tolist() == [-1, 1, 2]
        assert states_of(taken.numeric_columns([0])[0]).tolist() == [-1, 1, 2]
        np.testing.assert_array_equal(
            raw_matrix(taken, columns).view(np.uint64),
            raw_matrix(read_table(frame), columns).view(np.uint64),
        )
    assert table.holds_text(1) and table.labels(1).sorted().values == ("a", "b")
