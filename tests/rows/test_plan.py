"""What is learned of all rows does not depend on how they are cut."""

import numpy as np
import pytest

from glassleaf.rows.plan import draw_held_out
from glassleaf.rows.summarize import Part


@pytest.mark.parametrize("sizes", [[700], [300, 0, 399, 1], [1] * 700])
def test_the_same_rows_are_set_aside_however_they_are_cut(sizes):
    generator = np.random.RandomState(3)
    held_out = draw_held_out(generator, dict(enumerate(sizes)))
    parts = [Part(None, np.zeros(n), np.ones(n), number) for number, n in enumerate(sizes)]
    found = np.concatenate([held_out.rows_of(part) for part in reversed(parts)][::-1])
    alone = np.random.RandomState(3)
    np.testing.assert_array_equal(found, alone.random(700) < 0.2)
    assert generator.random() == alone.random()  # as if each row had drawn its number from it
