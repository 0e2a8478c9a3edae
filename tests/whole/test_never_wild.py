"""No option makes a model much worse than the plain linear one, or predict what nobody ever saw.

The bars of ``helpers/bars.py`` on the tables of ``helpers/wild.py``; the large run is
``python -m tests.soak``.
"""

import zlib

import numpy as np
import pytest
from bars import OF_NUMBERS, OPTIONS, falls, judged
from wild import FAMILY

ALWAYS = [{}, {"max_numbers": 10}, {"max_numbers": None}, {"max_leaf_nodes": "auto"}]
OTHERS = [options for options in OPTIONS if options not in ALWAYS]
N_TABLES = len(FAMILY)
N_TRAINING = 1500


def table(name, n_later=3000):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    X, y = FAMILY[name](rng, N_TRAINING + n_later)
    first, later = X[:N_TRAINING], X[N_TRAINING:].reset_index(drop=True)
    return first, y[:N_TRAINING], later, y[N_TRAINING:]


@pytest.mark.parametrize("name", FAMILY)
def test_no_option_falls_far(name):
    place = list(FAMILY).index(name)
    for options in [*ALWAYS, *OTHERS[place::N_TABLES]]:
        found = judged(options, *table(name))
        assert not falls(options, *found), (name, options, found)


@pytest.mark.parametrize("name", ["heavy_tails", "rare_categories", "missing"])
def test_nor_for_classes_and_other_losses(name):
    X, y, later, y_later = table(name)
    found = judged({}, X, y > 0.5, later, y_later > 0.5)
    assert not falls({}, *found), found
    options = OF_NUMBERS[0]
    found = judged(options, X, y, later, y_later)
    assert not falls(options, *found), found
