"""How far a model may fall: the bars that every option has to meet on every table."""

import warnings

from sklearn.metrics import r2_score, roc_auc_score

from glassleaf import ModelTreeClassifier, ModelTreeRegressor

# Points (hundredths of R2, or of the area under the curve) below the plain linear model.
MOST_BELOW = 1.0
LOWEST_R2 = -0.02
WIDENED = 0.5
KINDS = ("below linear", "below zero", "beyond the range")

# Every documented option alone, and whole models with some. Coefficients of few digits are not
# among them: how much that costs is said after the fit.
OPTIONS = [
    {},
    *({"max_numbers": k} for k in (10, 25, 50, None)),
    *({"max_leaf_nodes": k} for k in ("auto", 2, 8, 32)),
    *({"max_depth": k} for k in (1, 6)),
    *({"alpha": k} for k in (1.0, 100.0)),
    {"l1_ratio": 1.0, "alpha": 1.0},
    {"shrink": "zero"},
    {"min_samples_leaf": 20},
    {"min_gain": 0.01},
    {"significance": None},
    {"significance_test": "likelihood"},
    {"ccp_alpha": 0.01},
    *({"criterion": f"gradient{k}"} for k in ("_minmax", "_standardized", "")),
    {"criterion": "impurity"},
    {"rescore": 0},
    {"refine": True},
    {"max_bins": 32},
    {"category_splits": "one"},
    *({"leaf_transform": k} for k in ("winsor", "rank", "none")),
    *({"curves": k} for k in (True, False)),
    *({"clamp": k} for k in (False, (0.02, 0.98))),
    {"round_thresholds": True},
    {"max_leaf_nodes": "auto", "max_numbers": None},
    {"max_leaf_nodes": 32, "max_numbers": None},
    {"shrink": "zero", "max_numbers": None},
    {"curves": False, "max_numbers": None},
    {"alpha": 1.0, "max_numbers": None},
    {"leaf_transform": "none", "max_numbers": None},
]
OF_NUMBERS = [{"loss": "huber"}, {"loss": "poisson"}, {"loss": "gamma"}]
OF_CLASSES = [{"class_weight": "balanced"}]


def plain(options):
    """The linear model with the same options."""
    if options.get("max_leaf_nodes") is not None:
        return {**options, "max_leaf_nodes": 1}
    return {**options, "max_depth": 0}


def judged(options, X, y, later, y_later):
    """Score and linear model's score in points, and how far predictions leave the targets' range.

    The last in widths of the range; 0 within.
    """
    is_class = y.dtype == object or y.dtype == bool
    kind = ModelTreeClassifier if is_class else ModelTreeRegressor
    found = []
    for own in (options, plain(options)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kind(**own, n_jobs=1).fit(X, y)
        if is_class:
            found.append((100 * _area(y_later, model.predict_proba(later)), 0.0))
        else:
            predicted = model.predict(later)
            low, high = y.min(), y.max()
            out = max(low - predicted.min(), predicted.max() - high, 0.0) / (high - low)
            found.append((100 * r2_score(y_later, predicted), out))
    return found[0][0], found[1][0], found[0][1]


def _area(y, share):
    """The area under the curve; of several classes, the mean of each against the rest."""
    if share.shape[1] == 2:
        return roc_auc_score(y, share[:, 1])
    return roc_auc_score(y, share, multi_class="ovr")


def falls(options, score, linear, out):
    """Which bars a result misses."""
    missed = []
    if score < linear - MOST_BELOW:
        missed.append(KINDS[0])
    if score < 100 * LOWEST_R2:
        missed.append(KINDS[1])
    is_held = options.get("clamp", True) is not False  # who asks for extrapolation gets it
    if is_held and out > WIDENED and options.get("loss", "squared_error") == "squared_error":
        missed.append(KINDS[2])
    return missed
