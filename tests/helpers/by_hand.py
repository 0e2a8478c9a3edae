"""Predictions from the arrays of a tree alone, by plain loops, as `glassleaf.tree.tree` has it."""

import numpy as np


def goes_left(tree, node, value):
    """Where a value (number, category or None) goes, as ``glassleaf.tree.tree`` documents it."""
    categories = tree.columns[tree.feature[node]].categories
    special = special_of(tree.columns[tree.feature[node]], value)
    if special is not None:
        return bool(tree.left_special(node)[special])
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return bool(tree.missing_left[node])
    if categories is None:
        return bool(value <= tree.threshold[node])
    if value not in categories:
        return bool(tree.unknown_left[node])
    return bool(tree.left_categories(node)[categories.index(value)])


def special_of(column, value):
    """Which of a column's special values a value is, None if none."""
    values = [own for own, _ in column.special]
    return values.index(value) if value in values else None


def leaf_by_hand(tree, row):
    node = 0
    while tree.left[node] != -1:
        left = goes_left(tree, node, row[tree.feature[node]])
        node = tree.left[node] if left else tree.right[node]
    return node


def transformed_by_hand(terms, column, value):
    here = range(terms.first_knot[column], terms.first_knot[column + 1])
    if not here:
        return value
    x, z = terms.knot_x[here], terms.knot_z[here]
    if value <= x[0]:
        return z[0]
    for k in range(1, len(x)):
        if value <= x[k]:
            return z[k - 1] + (z[k] - z[k - 1]) * (value - x[k - 1]) / (x[k] - x[k - 1])
    return z[-1]


def model_by_hand(tree, node, row):
    raw = np.array(tree.intercept[node], dtype=np.float64)
    terms = tree.terms
    for j, (column, value) in enumerate(zip(tree.columns, row, strict=True)):
        missing = value is None or (isinstance(value, float) and np.isnan(value))
        if missing and terms.missing_term[j] >= 0:
            raw = raw + tree.coef[node][..., terms.missing_term[j]]
        first, special = terms.first_term[j], special_of(column, value)
        if special is not None:
            missing = True  # it counts as the fill, too
            if terms.special_terms(j)[special] >= 0:
                raw = raw + tree.coef[node][..., terms.special_terms(j)[special]]
        if first < 0:
            continue
        if column.categories is None:
            term = terms.fill[j] if missing else transformed_by_hand(terms, j, value)
            term = min(max(term, tree.clamp_low[node, j]), tree.clamp_high[node, j])
            raw = raw + tree.coef[node][..., first] * term
            for h in range(terms.first_hinge[j], terms.first_hinge[j + 1]):
                own = terms.n_terms - len(terms.hinge_at) + h
                raw = raw + tree.coef[node][..., own] * max(0.0, term - terms.hinge_at[h])
        elif not missing and value in column.categories:
            raw = raw + tree.coef[node][..., first + column.categories.index(value)]
    raw = np.minimum(np.maximum(raw, tree.score_low[node]), tree.score_high[node])
    for offset in tree.offsets:
        value = row[offset.column]
        raw = raw + (np.log(value) if offset.is_exposure else value)
    return raw


def by_hand(tree, rows):
    return np.array([model_by_hand(tree, leaf_by_hand(tree, row), row) for row in rows])
