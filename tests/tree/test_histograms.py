"""Bins of histograms, by plain loops."""

import numpy as np
import pytest

from glassleaf.rows.histograms import of_values
from glassleaf.tables.summaries import values_of
from glassleaf.tree.histograms import Histogram, joined


def bin_by_hand(own, value, is_categorical):
    if np.isnan(value):
        return len(own.edges) + 1
    if is_categorical:
        return list(own.edges).index(value) if value in own.edges else len(own.edges)
    return sum(value > edge for edge in own.edges)


@pytest.mark.parametrize("is_categorical", [False, True])
@pytest.mark.parametrize("edges", [[], [2.0], [0.0, 3.0, 5.0]])
def test_bins(edges, is_categorical):
    own = Histogram(np.array(edges), np.full(len(edges) + 2, 1 / (len(edges) + 2)))
    values = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 99.0, np.nan])
    expected = [bin_by_hand(own, value, is_categorical) for value in values]
    assert own.places(values, is_categorical).tolist() == expected
    counted = own.counted(values, is_categorical)
    by_hand = [expected.count(b) for b in range(len(edges) + 2)]
    assert counted.tolist() == by_hand


def test_shares_are_those_of_the_values():
    rng = np.random.default_rng(0)
    values = np.where(rng.random(1000) < 0.4, 0.0, np.round(rng.exponential(size=1000), 1))
    own = of_values(values_of(values, None), missing=0.0)
    assert 2 < len(own.edges) < 10 and own.edges[0] < 0.1
    np.testing.assert_allclose(own.counted(values, False) / 1000, own.share)
    few = of_values(values_of(np.array([1.0, 1.0, 2.0, 7.0]), None), missing=0.2)
    assert few.share.tolist() == pytest.approx([0.4, 0.2, 0.2, 0.2])


def test_flat_arrays_hold_all():
    one, other = Histogram(np.array([1.0]), np.full(3, 1 / 3)), Histogram(np.zeros(0), np.ones(2))
    found = joined([one, None, other])
    assert len(found) == 3 and found.at(1) is None
    assert found.at(0).edges.tolist() == [1.0] and found.at(2).share.tolist() == [1.0, 1.0]
    assert len(found.without_scores(1)) == 1
