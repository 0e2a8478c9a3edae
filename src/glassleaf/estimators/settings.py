"""The parameters of an estimator, checked and turned into the settings of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from glassleaf import checks as parameters
from glassleaf import criteria
from glassleaf.criteria import Criterion
from glassleaf.errors import describe
from glassleaf.estimators.first_splits import given_splits
from glassleaf.fit.models.penalty_choice import STRENGTHS
from glassleaf.losses import Loss
from glassleaf.rows.passes import WeakModel
from glassleaf.rows.settings import Renormalization, Roles, Settings
from glassleaf.tables.table import (
    Table,
    column_name,
    column_signs,
    date_parts,
    select_columns,
)
from glassleaf.tables.transforms import TRANSFORMS

# The limit of a tree that has no budget of leaves.
_USUAL_DEPTH = 3
# How large a tree may grow before held-out rows cut it back.
_MOST_AUTOMATIC_LEAVES = 64
# By the units of a criterion: the renormalization, and whether units are standardized without one.
_UNITS: dict[str, tuple[Renormalization, bool]] = {
    "zscore": ("zscore", True),
    "minmax": ("minmax", True),
    "standardized": (None, True),
    "raw": (None, False),
}
# Share of the gain that a short threshold may cost.
_ROUNDING_TOLERANCE = 0.01


def settings_of(
    given: Mapping[str, Any], loss: Loss, n_classes: int, is_grouped: bool = False
) -> Settings:
    """The settings of a fit, from the parameters of an estimator."""
    parameters.check_random_state(given["random_state"])
    criterion, weak_model = _criterion(given, n_classes), _weak_model(given)
    renormalize, standardized = _units(given, criterion)
    max_numbers = _max_numbers(given)
    _check_wishes(given, max_numbers is not None)
    transform = _transform(given, max_numbers is not None)
    return Settings(
        loss=loss,
        criterion=criterion,
        renormalize=renormalize,
        alpha=_alpha(given),
        is_alpha_chosen=_is_chosen(given),
        l1_ratio=parameters.real_number("l1_ratio", given["l1_ratio"], 0.0, 1.0),
        shrinks_to_parent=parameters.choice(
            "shrink", given["shrink"], {"zero": False, "parent": True}
        ),
        standardized=standardized,
        max_depth=_max_depth(given),
        max_leaf_nodes=_max_leaf_nodes(given),
        held_out=parameters.random_state(given["random_state"]) if _is_sized(given) else None,
        ccp_alpha=parameters.real_number("ccp_alpha", given["ccp_alpha"], 0.0),
        max_numbers=max_numbers,
        coef_digits=_coef_digits(given),
        is_held=parameters.clamp(given["clamp"]) is not False,
        shortens=max_numbers is not None and _is_called(given["coef_digits"], "auto"),
        round_thresholds=_round_thresholds(given, max_numbers is not None),
        min_samples_leaf=parameters.leaf_size(given["min_samples_leaf"]),
        min_gain=parameters.real_number("min_gain", given["min_gain"], 0.0),
        max_bins=_max_bins(given),
        n_threads=parameters.n_threads(given["n_jobs"]),
        n_classes=n_classes,
        weak_model=weak_model,
        transform=transform,
        clamp=parameters.clamp(given["clamp"]) if max_numbers is None else False,
        refine=parameters.flag("refine", given["refine"]),
        subsets=parameters.choice(
            "category_splits", given["category_splits"], {"one": False, "subset": True}
        ),
        rescore=parameters.whole_number("rescore", given["rescore"], 0) or 0,
        significance=_significance(given),
        is_grouped=is_grouped,
        honest=_honest(given),
        significance_test=parameters.choice(
            "significance_test",
            given["significance_test"],
            {"robust": "robust", "likelihood": "likelihood"},
        ),
    )


def _honest(given: Mapping[str, Any]) -> float | None:
    share = given["honest"]
    if share is None:
        return None
    found = parameters.real_number("honest", share, 0.0, 1.0, none="one part")
    if found in (0.0, 1.0):
        raise ValueError(f"honest={describe(share)} must be between 0 and 1, or None for one part.")
    if given["weak_model"] is not None:
        raise ValueError("honest is not supported with a weak_model of your own.")
    return found


def _significance(given: Mapping[str, Any]) -> float:
    level = given["significance"]
    if level is None:
        return 1.0
    return parameters.real_number("significance", level, 0.0, 1.0, none="no test")


def _weak_model(given: Mapping[str, Any]) -> WeakModel | None:
    weak_model = given["weak_model"]
    if weak_model is not None and not isinstance(weak_model, WeakModel):
        raise TypeError(
            f"weak_model={describe(weak_model)} must have the methods fit, raw and gradients;"
            " see glassleaf.WeakModel."
        )
    if weak_model is not None and _is_sized(given):
        raise ValueError("max_leaf_nodes='auto' is not supported with a weak_model of your own.")
    return weak_model


def _is_chosen(given: Mapping[str, Any]) -> bool:
    """Whether the strength of the penalty is chosen for every node."""
    return _is_called(given["alpha"], "auto")


def _alpha(given: Mapping[str, Any]) -> float:
    if _is_chosen(given):
        return float(STRENGTHS[0])
    return parameters.real_number("alpha", given["alpha"], 0.0)


def _is_sized(given: Mapping[str, Any]) -> bool:
    """Whether held-out rows choose the number of leaves."""
    return _is_called(given["max_leaf_nodes"], "auto")


def _max_depth(given: Mapping[str, Any]) -> int | None:
    """A budget of leaves limits a tree by itself; without one, three splits are readable."""
    if _is_called(given["max_depth"], "auto"):
        return _USUAL_DEPTH if given["max_leaf_nodes"] is None else None
    return parameters.whole_number("max_depth", given["max_depth"], 0, none="no limit", auto=True)


def _max_leaf_nodes(given: Mapping[str, Any]) -> int | None:
    if _is_sized(given):
        return _MOST_AUTOMATIC_LEAVES
    return parameters.whole_number(
        "max_leaf_nodes", given["max_leaf_nodes"], 1, none="no limit", auto=True
    )


def _transform(given: Mapping[str, Any], is_short: bool) -> str:
    """The transform of columns; where numbers are counted, "auto" only cuts heavy tails."""
    found = parameters.choice("leaf_transform", given["leaf_transform"], TRANSFORMS)
    return "cut" if is_short and found == "auto" else found


def _coef_digits(given: Mapping[str, Any]) -> int | None:
    if _is_called(given["coef_digits"], "auto"):
        return None
    return parameters.whole_number("coef_digits", given["coef_digits"], 1, none="no rounding")


def _round_thresholds(given: Mapping[str, Any], is_short: bool) -> float | None:
    """The share of a gain that a short threshold may cost; "auto" rounds where numbers count."""
    asked = given["round_thresholds"]
    if _is_called(asked, "auto"):
        asked = is_short
    return parameters.tolerance("round_thresholds", asked, _ROUNDING_TOLERANCE)


def _max_numbers(given: Mapping[str, Any]) -> int | Literal["auto"] | None:
    """The limit; "auto" is none where a formula of its own is asked for in every leaf."""
    asked = given["max_numbers"]
    whole = [
        (name, what)
        for name, is_set, what in (
            ("weak_model", given["weak_model"] is not None, "a weak_model of your own"),
            ("coef_digits", _coef_digits(given) is not None, "a fixed number of coef_digits"),
            ("clamp", isinstance(given["clamp"], (tuple, list)), "quantiles in clamp"),
        )
        if is_set
    ]
    if _is_called(asked, "auto"):
        return None if whole else "auto"
    if asked is not None and whole:
        name, what = whole[0]
        raise ValueError(f"max_numbers is not supported with {what}; leave {name} out.")
    return parameters.whole_number("max_numbers", asked, 1, none="no limit", auto=True)


def _check_wishes(given: Mapping[str, Any], is_short: bool) -> None:
    for name in ("shared_features", "required_features"):
        if given[name] is not None and not is_short:
            raise ValueError(
                f"{name} needs one formula for all rows. Leave max_numbers at 'auto' or give a"
                " number, and leave weak_model, coef_digits and clamp as they are."
            )


def _criterion(given: Mapping[str, Any], n_classes: int) -> Criterion:
    named: dict[str, Criterion] = {
        "gradient_zscore": criteria.GradientGain("zscore"),
        "gradient_minmax": criteria.GradientGain("minmax"),
        "gradient_standardized": criteria.GradientGain("standardized"),
        "gradient": criteria.GradientGain("raw"),
        "impurity": criteria.InformationGain() if n_classes else criteria.VarianceReduction(),
    }
    what = "an object with `uses` and `gain` (see glassleaf.criteria)"
    return parameters.named_or_object("criterion", given["criterion"], named, Criterion, what)


def _units(given: Mapping[str, Any], criterion: Criterion) -> tuple[Renormalization, bool]:
    """How gradients are renormalized, or else whether they are standardized."""
    if criterion.uses == "target":
        return None, True
    asked = getattr(criterion, "units", "zscore")
    renormalize, standardized = parameters.choice("criterion.units", asked, _UNITS)
    if given["weak_model"] is not None and renormalize is not None:
        is_named = isinstance(given["criterion"], str)
        instead = "criterion='gradient' or 'impurity'" if is_named else "its units to 'raw'"
        raise ValueError(
            f"criterion={describe(given['criterion'])} renormalizes the gradients of linear models."
            f" With a weak_model of your own, set {instead}."
        )
    return renormalize, standardized


def _max_bins(given: Mapping[str, Any]) -> int:
    found = parameters.whole_number("max_bins", given["max_bins"], 2)
    if found is None or found > 65_000:
        raise ValueError(f"max_bins={given['max_bins']} must be an integer from 2 to 65000.")
    return found


def roles_of(given: Mapping[str, Any], loss: Loss, table: Table) -> Roles:
    """What each column is and may be used for, from the parameters of an estimator."""
    everything = np.ones(table.n_columns, dtype=np.bool_)
    if _is_called(given["categorical_features"], "from_dtype"):
        categorical = np.array([table.holds_text(j) for j in range(table.n_columns)], dtype=bool)
    else:
        categorical = _chosen_categories(given["categorical_features"], table)
    splits, leaves, shared, required = (
        select_columns(table, given[name], name) if given[name] is not None else unless
        for name, unless in (
            ("split_features", everything),
            ("leaf_features", everything),
            ("shared_features", ~everything),
            ("required_features", ~everything),
        )
    )
    for column in np.flatnonzero(required & ~leaves).tolist():
        raise ValueError(
            f"required_features names the column {column_name(table, column)!r}, which is not in"
            " leaf_features."
        )
    signs = column_signs(table, given["monotonic_cst"], "monotonic_cst")
    _check_signs(given, loss, table, signs, categorical, leaves)
    tested = _tested(given, table, leaves)
    bends = _bends(given, table, leaves & ~categorical)
    if given["l1_ratio"]:  # the absolute values of slopes are not those of weights
        bends = bends & (signs == 0)
    if given["weak_model"] is not None:
        bends = ~everything
    splits = splits & (signs == 0)
    return Roles(
        categorical,
        splits,
        leaves,
        bends,
        signs,
        shared,
        required,
        tested,
        dates=date_parts(table),
        is_asked=not isinstance(given["curves"], (bool, np.bool_, str)),
        given=given_splits(given["first_splits"], table, categorical, splits),
    )


def _bends(
    given: Mapping[str, Any], table: Table, may_bend: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """The columns that may bend: those that are named, or all or none of those that can."""
    asked = given["curves"]
    if _is_called(asked, "auto"):
        is_short = _max_numbers(given) is not None
        asked = _is_called(given["leaf_transform"], "auto") and (
            is_short or given["max_depth"] != 0
        )
    if isinstance(asked, (bool, np.bool_)):
        return may_bend & bool(asked)
    if asked is None or isinstance(asked, (str, int, float)):
        raise ValueError(
            f"curves={describe(asked)} must be 'auto', True, False or a list of columns."
        )
    named = select_columns(table, asked, "curves")
    is_part = np.array([own is not None and not own.is_input for own in date_parts(table)])
    named &= may_bend | ~is_part  # of a date, what can
    for column in np.flatnonzero(named & ~may_bend).tolist():
        raise ValueError(
            f"curves names the column {column_name(table, column)!r}, which holds categories or is"
            " not in leaf_features. Only a numeric column of the leaf models can bend."
        )
    return named


def _chosen_categories(chosen: Any, table: Table) -> NDArray[np.bool_]:
    """Columns that are named as categories, and names of months and days of the week."""
    dates = date_parts(table)
    found = np.array([own is not None and table.holds_text(j) for j, own in enumerate(dates)])
    if chosen is not None:
        found |= select_columns(table, chosen, "categorical_features")
    return found


def _tested(
    given: Mapping[str, Any], table: Table, in_leaves: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """The columns whose coefficients must change at a split."""
    if given["tested_terms"] is None:
        return None
    for name, needed in (
        ("weak_model", None),
        ("criterion", "gradient_zscore"),
        ("significance_test", "robust"),
    ):
        if given[name] is not needed and given[name] != needed:
            raise ValueError(f"tested_terms needs {name}={needed!r}; got {describe(given[name])}.")
    tested = select_columns(table, given["tested_terms"], "tested_terms")
    if not tested.any():
        raise ValueError("tested_terms names no column; name one, or set it to None for all.")
    for column in np.flatnonzero(tested & ~in_leaves).tolist():
        raise ValueError(
            f"tested_terms names the column {column_name(table, column)!r}, which is not in"
            " leaf_features: it has no coefficient."
        )
    return tested


def _check_signs(
    given: Mapping[str, Any],
    loss: Loss,
    table: Table,
    signs: NDArray[np.int8],
    categorical: NDArray[np.bool_],
    in_leaves: NDArray[np.bool_],
) -> None:
    if not signs.any():
        return
    if loss.n_outputs > 1 or given["weak_model"] is not None:
        what = "several classes" if loss.n_outputs > 1 else "a weak_model of your own"
        raise ValueError(f"monotonic_cst is not supported with {what}.")
    for column in np.flatnonzero(signs).tolist():
        if categorical[column] or not in_leaves[column]:
            what = "holds categories" if categorical[column] else "is not in leaf_features"
            raise ValueError(
                f"monotonic_cst names the column {column_name(table, column)!r}, which {what}."
                " Only a numeric column of the leaf models can be monotone."
            )


def _is_called(value: Any, name: str) -> bool:
    """Whether a value is this name; of an array, ``==`` would be one as well."""
    return isinstance(value, str) and value == name
