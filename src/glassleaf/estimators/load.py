"""Model files to fitted estimators."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from glassleaf.errors import ModelFileError
from glassleaf.estimators import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.estimators.outlets import without_address
from glassleaf.tree.file import model_file
from glassleaf.tree.file.serialize import from_document

_ESTIMATORS: dict[str, Any] = {
    "ModelTreeRegressor": ModelTreeRegressor,
    "ModelTreeClassifier": ModelTreeClassifier,
}


def load(path: str | os.PathLike[str]) -> ModelTreeRegressor | ModelTreeClassifier:
    """The estimator that was saved with ``save``; it predicts the same to the last bit.

    Parameters
    ----------
    path : str or path
        A model file. It may come from anywhere: it is data, checked against the schema, and
        nothing in it is executed.

    Returns
    -------
    ModelTreeRegressor or ModelTreeClassifier

    Raises
    ------
    ModelFileError
        If the file is damaged, is no model file, or was written by a newer version.
    """
    try:
        return from_text(Path(path).read_bytes())
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def from_text(text: bytes | str) -> ModelTreeRegressor | ModelTreeClassifier:
    """The estimator in the text of a model file."""
    model = from_document(model_file.parse(text))
    kind = _ESTIMATORS[model.estimator]
    known = kind().get_params(deep=False)
    unknown = sorted(set(model.parameters) - set(known))
    if unknown:
        raise ModelFileError(
            f"{model.estimator} of this glassleaf has no parameter {unknown[0]!r:.60}. The file"
            " was written by another version, or by hand."
        )
    estimator = kind(**without_address(model.parameters))
    estimator.model_ = model
    return estimator  # type: ignore[no-any-return]
