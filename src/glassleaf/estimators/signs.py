"""Whether the signs of ``monotonic_cst`` agree with the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glassleaf.errors import warn
from glassleaf.tree.fitted import FittedModel


def warn_of_idle_signs(model: FittedModel, signs: NDArray[np.int8]) -> None:
    """Warn of columns with a sign whose coefficients are zero in every leaf."""
    leaves, terms = model.tree.coef[model.leaves], model.tree.terms
    idle = [
        j
        for j in np.flatnonzero(signs).tolist()
        if not leaves[:, [terms.first_term[j], *terms.hinge_terms(j)]].any()
    ]
    if idle:
        given = ", ".join(f"{model.names[j]!r}: {signs[j]:+d}" for j in idle)
        warn(
            f"monotonic_cst={{{given}}}: the coefficient is zero in every leaf. The sign"
            f" contradicts the data, or the formulas do without the column.{_what_rises(model)}"
        )


def _what_rises(model: FittedModel) -> str:
    if model.classes is None:
        return ""
    return (
        f" A sign is about the probability of {model.positive_class!r}; positive_class says which"
        " class that is."
    )
