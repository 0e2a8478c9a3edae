"""Whether a split is more than chance: the probability of its gain where no split is true.

Twice the fall of the loss, divided by the dispersion, is a likelihood ratio statistic. If the
node's one model is right, that of a split chosen beforehand is distributed as chi-squared with as
many degrees of freedom as the second model has parameters. Two things differ here:

* the models are penalized. A direction of the parameters of which the penalty leaves the share s
  adds s times a chi-squared variable; the sum is approximated by a scaled chi-squared variable of
  the same mean and variance (Satterthwaite 1946);
* the split is the best of many. The probability is multiplied by their number (Bonferroni), which
  is on the safe side: neighbouring splits are nearly the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

Floats = NDArray[np.float64]


def chance(gain: float, dispersion: float, shares: Floats, n_candidates: float) -> float:
    """Probability that the best of so many splits gains this much where none is true.

    >>> round(chance(gain=1.92, dispersion=1.0, shares=np.ones(1), n_candidates=1), 3)
    0.05
    """
    if gain <= 0 or not shares.any():
        return 1.0
    if dispersion <= 0:
        return 0.0
    total, squares = float(shares.sum()), float((shares**2).sum())
    degrees, unit = total**2 / squares, squares / total
    # The upper tail of chi-squared with d degrees of freedom is that of gamma with d / 2.
    return min(1.0, n_candidates * float(gammaincc(degrees / 2, gain / dispersion / unit)))
