"""Short numbers: as few digits in every entry as cost less than a share of the loss.

Around the best entries x the loss is ``(x - best)' H (x - best) / 2``, and with ``H = R' R``, R a
triangle, a sum with one summand for every entry, in which only later entries meddle. So entries are
rounded from the last to the first, each around what is best beside those that are rounded already
(Babai's nearest plane). The constant for all rows comes first, and makes up for all others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glassleaf.tables.short_numbers import shortest_between

Floats = NDArray[np.float64]

# All short numbers together may cost this share of the loss, and one at most this share of itself.
_SHARE = 0.001
_OF_ITSELF = 0.25
_RIDGE = 1e-10


def shortened(best: Floats, hessian: Floats, loss: float, sign: Floats | None = None) -> Floats:
    """Short numbers near the best entries of a model with this loss, which keep the given signs.

    >>> shortened(np.array([0.30123, -2.0271]), np.diag([100.0, 1e5]), 10.0)
    array([ 0.3  , -2.027])
    """
    size = np.sqrt(np.maximum(np.diagonal(hessian), np.finfo(float).tiny))
    correlation = hessian / (size[:, None] * size)
    correlation[np.diag_indices_from(correlation)] += _RIDGE
    triangle = np.linalg.cholesky(correlation).T * size
    tolerance = np.sqrt(2 * _SHARE * loss / len(best))
    out = best.copy()
    for i in range(len(best) - 1, -1, -1):
        later = triangle[i, i + 1 :] @ (best[i + 1 :] - out[i + 1 :])
        wanted = best[i] + later / triangle[i, i]
        if sign is not None and sign[i] * wanted < 0:
            wanted = best[i]
        away = min(tolerance / triangle[i, i], _OF_ITSELF * abs(wanted))
        out[i] = _shortest_near(float(wanted), float(away))
    return out


def _shortest_near(number: float, away: float) -> float:
    return shortest_between(number - away, number + away) if away > 0 else number
