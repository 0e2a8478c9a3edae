"""Slow, obvious versions of what glassleaf computes fast, written straight from the equations.

Nothing here comes from glassleaf. A candidate split is scored by the definition: take the rows of
each side, bring their design columns into the side's own units, form every row's gradient
``(r x, r)``, add the rows up. No bins, no cumulative sums, no change of units of sums.
"""

from dataclasses import dataclass

import numpy as np

from glassleaf.tables.cells import ANY_NUMBER

TIE = 1e-9
NEAR = 1e-6
CONSTANT_SIDE = 1e-5
ROUNDING = 1e-12


# --- statistics ----------------------------------------------------------------------------------


def mean(x, weight):
    return float((weight * x).sum() / weight.sum())


def std(x, weight):
    """Population standard deviation; rounding noise of a constant is 0."""
    spread = float(np.sqrt(mean((x - mean(x, weight)) ** 2, weight)))
    return spread if spread > ROUNDING * np.abs(x).max() else 0.0


def quantile(y, weight, share):
    """Smallest value with at least this share of the weight at or below it."""
    for value in sorted(set(y.tolist())):
        if weight[y <= value].sum() >= share * weight.sum() * (1 - 1e-12):
            return value
    raise AssertionError("the largest value has all the weight below it")


# --- the design ----------------------------------------------------------------------------------


def design_matrix(X, weight, categorical=()):
    """Terms: a number, or one indicator per category and one for "missing"; "is missing" last."""
    terms, last = [], []
    for j in range(X.shape[1]):
        x, missing = X[:, j], np.isnan(X[:, j])
        if j in categorical:
            for code in range(int(np.nanmax(x)) + 1):
                terms.append((x == code).astype(float))
            if missing.any():
                terms.append(missing.astype(float))
        elif missing.any():
            terms.append(np.where(missing, mean(x[~missing], weight[~missing]), x))
            last.append(missing.astype(float))
        else:
            terms.append(x.copy())
    return np.column_stack(terms + last)


def standardized(design, weight):
    """Mean 0 and standard deviation 1 over all rows; a constant becomes 0."""
    out = np.zeros_like(design)
    for j in range(design.shape[1]):
        spread = std(design[:, j], weight)
        if spread > 0:
            out[:, j] = (design[:, j] - mean(design[:, j], weight)) / spread
    return out


# --- losses: the derivative by the raw prediction ------------------------------------------------


def huber_delta(y, weight, delta=1.35):
    """Huber's delta in units of y: it is given in units of the interquartile range / 1.349."""
    return delta * (quantile(y, weight, 0.75) - quantile(y, weight, 0.25)) / 1.349


def slopes(loss, y, raw, delta):
    """dl/dz of every row, shape (rows, outputs)."""
    z = raw[:, 0]
    if loss == "squared_error":
        return (z - y)[:, None]
    if loss == "huber":
        return np.clip(z - y, -delta, delta)[:, None]
    if loss == "poisson":
        return (np.exp(z) - y)[:, None]
    if loss == "gamma":
        return (1 - y * np.exp(-z))[:, None]
    if raw.shape[1] == 1:
        return (1 / (1 + np.exp(-z)) - y)[:, None]
    out = np.empty_like(raw)
    for i in range(len(y)):
        e = np.exp(raw[i] - raw[i].max())
        out[i] = e / e.sum()
        out[i, int(y[i])] -= 1
    return out


# --- gains ---------------------------------------------------------------------------------------


def renormalized(design, weight, node_design, node_weight, how):
    """The columns of one side in the side's own units; 0 for a column that is constant there."""
    if how is None:
        return design
    out = np.zeros_like(design)
    for j in range(design.shape[1]):
        x, whole = design[:, j], node_design[:, j]
        if how == "zscore":
            center, unit, in_node = mean(x, weight), std(x, weight), std(whole, node_weight)
        else:
            center, unit, in_node = x.min(), x.max() - x.min(), whole.max() - whole.min()
        if unit > CONSTANT_SIDE * in_node:
            out[:, j] = (x - center) / unit
    return out


def gradient_gain(side, design, residual, weight, how):
    """One side's part of equation 6: ``|sum of (r x, r)|^2 / |S|``, over all outputs."""
    x = renormalized(design[side], weight[side], design, weight, how)
    total = 0.0
    for k in range(residual.shape[1]):
        r = residual[side, k]
        total += r.sum() ** 2
        for j in range(x.shape[1]):
            total += (r * x[:, j]).sum() ** 2
    return total / weight[side].sum()


def squared_deviation(y, weight):
    return float((weight * (y - mean(y, weight)) ** 2).sum())


def entropy(y, weight):
    """Weight times entropy, in nats."""
    total = 0.0
    for value in set(y.tolist()):
        share = weight[y == value].sum() / weight.sum()
        total -= weight.sum() * share * np.log(share)
    return total


# --- candidates ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """``category`` is -1 for a number, else the code that goes left (the last one: missing)."""

    column: int
    threshold: float
    category: int
    missing_left: bool
    gain: float


def numeric_candidates(x, bins=None):
    """(threshold, missing goes left, goes left) of every candidate, in the order of ties.

    ``bins`` lists (smallest, largest) value of every bin; None: every value is a bin of its own.
    """
    missing = np.isnan(x)
    if bins is None:
        bins = [(v, v) for v in sorted(set(x[~missing].tolist()))]
    occupied = [(low, high) for low, high in bins if ((x >= low) & (x <= high)).any()]
    for (_, before), (after, _) in zip(occupied, occupied[1:], strict=False):
        threshold = before + (after - before) / 2
        yield threshold, False, x <= threshold
        if missing.any():
            yield threshold, True, (x <= threshold) | missing
    if missing.any():
        yield ANY_NUMBER, False, ~missing


def category_candidates(x, n_categories):
    """(code, missing goes left, goes left): every category, then "missing", against the rest."""
    for code in range(n_categories):
        yield code, False, x == code
    if np.isnan(x).any():
        yield n_categories, True, np.isnan(x)


def all_candidates(
    X, design, y, weight, coef, intercept, rows, *, loss, criterion, renormalize, scale,
    min_count, categorical=(), bins=None,
):  # fmt: skip
    """Every allowed candidate split of a node with its gain, in the order of ties.

    X, design, y, weight are those of all training rows; ``rows`` says which reach the node;
    ``coef, intercept`` are its model on the raw scale; ``bins`` maps columns to their bins.
    """
    raw = design @ np.atleast_2d(coef).T + np.atleast_1d(intercept)
    delta = huber_delta(y, weight) if loss == "huber" else None
    residual = weight[:, None] * slopes(loss, y, raw, delta)
    units = standardized(design, weight) if scale == "standard" else design
    n_categories = {j: int(np.nanmax(X[:, j])) + 1 for j in categorical}
    X, y, weight, residual, units = X[rows], y[rows], weight[rows], residual[rows], units[rows]
    impurity = entropy if loss == "log_loss" else squared_deviation

    def gain(left):
        if criterion == "impurity":
            parts = impurity(y[left], weight[left]) + impurity(y[~left], weight[~left])
            return impurity(y, weight) - parts
        return gradient_gain(left, units, residual, weight, renormalize) + gradient_gain(
            ~left, units, residual, weight, renormalize
        )

    found = []
    for j in range(X.shape[1]):
        if j in categorical:
            for code, missing_left, left in category_candidates(X[:, j], n_categories[j]):
                if min(left.sum(), (~left).sum()) >= min_count:
                    found.append(Candidate(j, np.nan, code, missing_left, gain(left)))
        else:
            own = None if bins is None else bins.get(j)
            for threshold, missing_left, left in numeric_candidates(X[:, j], own):
                if min(left.sum(), (~left).sum()) >= min_count:
                    found.append(Candidate(j, threshold, -1, missing_left, gain(left)))
    return found


def acceptable(candidates):
    """The winner under the tie rule; all near winners where rounding may decide; [] for none.

    Gains within a relative 1e-9 are ties: the first candidate wins. A gain that is further from
    the best than that, but not by more than 1e-6, could be on either side of the rule's border
    after the rounding of another order of additions: then any of the near ones is right.
    """
    if not candidates:
        return []
    best = max(c.gain for c in candidates)
    tied = [c for c in candidates if c.gain >= best - TIE * abs(best)]
    near = [c for c in candidates if c.gain >= best - NEAR * abs(best)]
    return tied[:1] if len(near) == len(tied) else near


def best_split(*args, **kwargs):
    """The best split under the tie rule, or None."""
    candidates = all_candidates(*args, **kwargs)
    if not candidates:
        return None
    best = max(c.gain for c in candidates)
    return next(c for c in candidates if c.gain >= best - TIE * abs(best))


def quantile_bins(values, weight, max_bins):
    """(smallest, largest) value of every bin: bin k ends where the weight reaches k / max_bins."""
    distinct = sorted(set(values.tolist()))
    if len(distinct) <= max_bins:
        return [(v, v) for v in distinct]
    ends = []
    for k in range(1, max_bins + 1):
        end = quantile(values, weight, k / max_bins)
        if end not in ends:
            ends.append(end)
    starts = [distinct[0]] + [distinct[distinct.index(end) + 1] for end in ends[:-1]]
    return list(zip(starts, ends, strict=True))


# --- the finished tree ---------------------------------------------------------------------------


def goes_left(tree, node, x):
    """Whether a row (categories as codes, NaN missing) goes left at a node."""
    value = x[tree.feature[node]]
    if np.isnan(value):
        return bool(tree.missing_left[node])
    categories = tree.left_categories(node)
    if categories is not None:
        return bool(categories[int(value)])
    return bool(value <= tree.threshold[node])


def rows_of_nodes(tree, X):
    """For every node, which rows reach it."""
    reach = np.zeros((tree.node_count, len(X)), dtype=bool)
    for i in range(len(X)):
        node = 0
        reach[node, i] = True
        while tree.left[node] >= 0:
            node = tree.left[node] if goes_left(tree, node, X[i]) else tree.right[node]
            reach[node, i] = True
    return reach


# --- beyond the paper ----------------------------------------------------------------------------


def ridge_towards(design, y, weight, alpha, towards=None):
    """Least squares with a penalty on the distance from coefficients, and the penalized loss.

    ``1/2 sum s (y - x c - b)^2 + alpha/2 |(c - towards) * spread|^2``: the distance is taken in
    units in which every column has the spread 1 among these rows. All is in the units of y.
    """
    center = np.array([mean(x, weight) for x in design.T])
    spread = np.array([std(x, weight) for x in design.T])
    towards = np.zeros(len(spread)) if towards is None else towards
    used = spread > 0
    scaled = (design[:, used] - center[used]) / spread[used]
    left = y - (design - center) @ np.where(used, towards, 0.0)
    middle = mean(left, weight)
    gram = scaled.T @ (weight[:, None] * scaled) + alpha * np.eye(int(used.sum()))
    step = np.linalg.solve(gram, scaled.T @ (weight * (left - middle)))
    coef = np.where(used, towards, 0.0)
    coef[used] += step / spread[used]
    raw = middle + (design - center) @ coef
    objective = 0.5 * weight @ (y - raw) ** 2 + 0.5 * alpha * step @ step
    return coef, middle - center @ coef, objective


def exact_gain(design, y, weight, left, alpha, towards=None):
    """How far the penalized loss falls if two models take the place of one."""
    whole, first, second = (
        ridge_towards(design[side], y[side], weight[side], alpha, towards)[2]
        for side in (np.ones(len(y), dtype=bool), left, ~left)
    )
    return whole - first - second


def best_strength(design, y, weight, towards=None):
    """The strength with the smallest AIC: every one fitted, its parameters counted by the trace.

    From ten rows up; weaker ones down to a hundred-thousandth of a row, but the parameters that
    these add count as by BIC. The noise is that around the model with ten rows and, as long as a
    weaker one is best, around that.
    """
    center = np.array([mean(x, weight) for x in design.T])
    spread = np.array([std(x, weight) for x in design.T])
    scaled = ((design - center) / spread)[:, spread > 0]
    gram = scaled.T @ (weight[:, None] * scaled)
    total = weight.sum()
    strengths = [10 ** (k / 2) for k in range(-10, 13)]
    usual = strengths.index(10.0)
    losses, sizes = [], []
    for alpha in strengths:
        coef, intercept, _ = ridge_towards(design, y, weight, alpha, towards)
        losses.append(0.5 * weight @ (y - design @ coef - intercept) ** 2)
        hat = np.linalg.solve(gram + alpha * np.eye(len(gram)), gram)
        sizes.append(np.trace(hat))
    known = usual
    while True:
        unit = 2 * losses[known] / (total - sizes[known] - 1)
        criteria = []
        for k in range(len(strengths)):
            price = sizes[k]
            if k < usual:
                price = sizes[usual] + (sizes[k] - sizes[usual]) * max(1.0, np.log(total) / 2)
            criteria.append(price + losses[k] / unit)
        best = int(np.argmin(criteria))
        if best >= known:
            return strengths[best]
        known = best


def subsets(n):
    """Every way to send n categories to two sides, once (the last one goes right)."""
    for bits in range(1, 2 ** (n - 1)):
        yield np.array([bool(bits >> k & 1) for k in range(n)])
