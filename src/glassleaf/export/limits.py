"""What systems that know only doubles cannot hold: refused here, rather than computed wrongly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from glassleaf.errors import ExportError
from glassleaf.tree.file.serialize import plain_model
from glassleaf.tree.fitted import fitted_model
from glassleaf.tree.plain import PlainModel

# Beyond this, two whole numbers may be the same double.
_LARGEST_WHOLE = 2**53


def portable_model(estimator: Any) -> PlainModel:
    """The plain model of an estimator, if doubles and texts can hold all of it."""
    fitted = fitted_model(estimator)
    model = plain_model(replace(fitted, parameters={"reason_codes": estimator.reason_codes}))
    for column in model.columns:
        for category in column.categories or ():
            if isinstance(category, int) and abs(category) > _LARGEST_WHOLE:
                raise ExportError(
                    f"Column {column.name!r} has the category {category}; beyond 2^53, other"
                    " systems cannot tell whole numbers apart. Make the column text, and fit again."
                )
    return model
