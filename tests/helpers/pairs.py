"""Cases of several lists at once, without the product of them all."""

import pytest


def pairs(names, *lists, shift=0):
    """Parametrize a test by lists side by side: every value of each occurs at least once.

    ``shift`` moves the lists against each other, so that tests of one file see other pairs.
    """
    values = [list(own) for own in lists]
    n_cases = max(len(own) for own in values)
    cases = [
        tuple(own[(i + k * shift) % len(own)] for k, own in enumerate(values))
        for i in range(n_cases)
    ]
    return pytest.mark.parametrize(names, cases)
