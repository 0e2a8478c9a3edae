"""The settings under which the estimators are the methods of Broelemann & Kasneci (2019)."""

from __future__ import annotations

from typing import Any

from glassleaf import checks as parameters

# Everything that goes beyond the paper, turned off.
_COMMON: dict[str, Any] = {
    "alpha": 1.0,
    "l1_ratio": 0.0,
    "shrink": "zero",
    "min_gain": 0.0,
    "ccp_alpha": 0.0,
    "max_numbers": None,
    "round_thresholds": False,
    "coef_digits": None,
    "significance": None,
    "significance_test": "robust",
    "tested_terms": None,
    "honest": None,
    "rescore": 0,
    "refine": False,
    "category_splits": "one",
    "leaf_transform": "none",
    "curves": False,
    "clamp": False,
}

PAPER_METHODS = {"MT-G": "gradient", "MT-GR": "gradient_zscore", "MT-DT": "impurity"}


def paper_settings(method: str) -> dict[str, Any]:
    """Keyword arguments that make an estimator one of the paper's methods.

    Parameters
    ----------
    method : {"MT-G", "MT-GR", "MT-DT"}
        Gradients of raw features; gradients renormalized on every side; the classical criterion.
        The paper's other renormalization is ``criterion="gradient_minmax"``.

    Returns
    -------
    dict

    Examples
    --------
    >>> from glassleaf import ModelTreeRegressor, paper_settings
    >>> ModelTreeRegressor(**paper_settings("MT-G"), max_depth=2)
    ModelTreeRegressor(alpha=1.0, category_splits='one', clamp=False,
                       coef_digits=None, criterion='gradient', curves=False,
                       leaf_transform='none', max_depth=2, max_numbers=None,
                       rescore=0, round_thresholds=False, shrink='zero',
                       significance=None)
    """
    return {**_COMMON, "criterion": parameters.choice("method", method, PAPER_METHODS)}
