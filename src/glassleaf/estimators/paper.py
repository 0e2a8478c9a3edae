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
    "max_leaf_terms": None,
    "round_thresholds": False,
    "coef_digits": None,
    "significance": None,
    "rescore": 0,
    "refine": False,
    "category_splits": "one",
    "leaf_transform": "none",
    "curves": False,
    "clamp": False,
}

PAPER_METHODS: dict[str, dict[str, Any]] = {
    "MT-G": {"criterion": "gradient", "renormalize": None, "scale": None},
    "MT-GR": {"criterion": "gradient", "renormalize": "zscore", "scale": "standard"},
    "MT-DT": {"criterion": "impurity", "renormalize": None, "scale": "standard"},
}


def paper_settings(method: str) -> dict[str, Any]:
    """Keyword arguments that make an estimator one of the paper's methods.

    Parameters
    ----------
    method : {"MT-G", "MT-GR", "MT-DT"}
        Gradients of raw features; gradients renormalized on every side; the classical criterion.

    Returns
    -------
    dict

    Examples
    --------
    >>> from glassleaf import ModelTreeRegressor, paper_settings
    >>> ModelTreeRegressor(**paper_settings("MT-G"), max_depth=2)
    ModelTreeRegressor(alpha=1.0, category_splits='one', clamp=False, curves=False,
                       leaf_transform='none', max_depth=2, renormalize=None,
                       rescore=0, scale=None, shrink='zero', significance=None)
    """
    return {**_COMMON, **parameters.choice("method", method, PAPER_METHODS)}
