"""Which entries of which nodes a short model keeps: steps forward, and steps back.

An *entry* is a parameter of a node: what its model differs by from its parent's. The loss is
quadratic in the entries, and two of them meet only where one node lies below the other, in the
Hessian of the deeper one. Kept entries are made orthogonal one after the other, as Gram and Schmidt
do, so that what each of the others would gain beside them is always known. Products of these
directions with the kept entries are a triangle; when an entry goes, rotations make it one again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from glassleaf._kernels.compiling import kernel

# An entry of which no more is its own than this share is a combination of those that are kept.
_OWN_SHARE = 1e-7
# A gain per number below this share of all that was gained is rounding.
_NO_GAIN = 1e-10


class Quadratic(NamedTuple):
    """The loss of entries x: ``x' H x / 2 - slope' x``, by sums over the rows of every node.

    ``deeper[u, v]`` is the lower one of two nodes on one path, -1 if they are on none.
    """

    hessian: np.ndarray  # (nodes, parameters, parameters)
    slope: np.ndarray  # (nodes, parameters)
    ridge: np.ndarray  # (nodes, parameters)
    deeper: np.ndarray  # (nodes, nodes)


class Prices(NamedTuple):
    """How many numbers it takes to read an entry.

    Its own; those of its groups, if it is the first of one; those of the splits that must be told
    to name its node.
    """

    entry: np.ndarray  # (parameters,)
    group_of: np.ndarray  # (parameters, groups of each)
    group: np.ndarray  # (groups,)
    split: np.ndarray  # (nodes,)
    parent: np.ndarray  # (nodes,)
    sibling: np.ndarray  # (nodes,)


class Rules(NamedTuple):
    """Which entries may be kept, the sign of each, the intercept that belongs to a parameter.

    The ``required`` ones of the root are in from the first step on. Once a step has an entry of a
    column, entries of the columns that it ``bars`` may not come any more.

    An entry that has no more than ``own_rows`` of its own (the ridge is one row's worth) rests on
    a few rows, and may not be kept.
    """

    allowed: np.ndarray  # (nodes, parameters)
    sign: np.ndarray  # (parameters,)
    intercept: np.ndarray  # (parameters,)
    required: np.ndarray  # (parameters,)
    column: np.ndarray  # (parameters,): -1, the last, for an intercept
    bars: np.ndarray  # (columns and intercept, columns and intercept)
    own_rows: float = 10.0


class Kept(NamedTuple):
    """The entries that are kept, in order, made orthogonal; and what is left of the others."""

    node: np.ndarray  # (most,)
    parameter: np.ndarray  # (most,)
    direction: np.ndarray  # (most, nodes, parameters): products with all entries
    length: np.ndarray  # (most,): product with the slope
    triangle: np.ndarray  # (most, most): products of directions (rows) with kept entries
    inverse: np.ndarray  # (most, most): of the triangle, transposed
    slope: np.ndarray  # (nodes, parameters): what the kept ones leave of it
    own: np.ndarray  # (nodes, parameters): what they leave of an entry's square
    shared: np.ndarray  # (nodes, parameters): and of its product with the node's intercept
    is_kept: np.ndarray  # (nodes, parameters)
    uses: np.ndarray  # (nodes,): kept entries in the node or below
    group_uses: np.ndarray  # (groups,)


@kernel
def select_entries(quadratic, prices, rules, most_numbers, back, numbers, fall, size, entry, theta):
    """Keep the entries that lower the loss most per number to read; returns the number of steps.

    An entry may come in together with the intercept of its node. After each step, the entry that
    is missed least goes, if per number the loss rises by less than ``back`` times what the step
    gained. Step k has ``numbers[k]`` to read, and has lowered the loss by ``fall[k]``. Its first
    ``size[k]`` entries have the values ``theta[k]``, at ``entry[k]`` of nodes times parameters.
    """
    n_steps, most = theta.shape
    n_nodes, n_parameters = quadratic.slope.shape
    allowed = rules.allowed.copy()
    kept = Kept(
        np.empty(most, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.empty((most, n_nodes, n_parameters)),
        np.empty(most),
        np.zeros((most, most)),
        np.zeros((most, most)),
        quadratic.slope.copy(),
        np.empty((n_nodes, n_parameters)),
        np.empty((n_nodes, n_parameters)),
        np.zeros((n_nodes, n_parameters), dtype=np.bool_),
        np.zeros(n_nodes, dtype=np.int64),
        np.zeros(len(prices.group), dtype=np.int64),
    )
    for v in range(n_nodes):
        for p in range(n_parameters):
            kept.own[v, p] = quadratic.hessian[v, p, p] + quadratic.ridge[v, p]
            kept.shared[v, p] = quadratic.hessian[v, p, rules.intercept[p]]
    value, pair = np.empty(most), np.empty((2, 2), dtype=np.int64)
    n_kept = total = step = 0
    for p in range(n_parameters):  # every model has an intercept for all rows
        if rules.intercept[p] == p:
            total += _note(1, 0, p, prices, kept)
            _add(0, p, quadratic, rules, kept, n_kept)
            n_kept += 1
    for p in range(n_parameters):
        if rules.required[p] and _may_come(0, p, quadratic, rules, allowed, kept):
            total += _note(1, 0, p, prices, kept)
            _add(0, p, quadratic, rules, kept, n_kept)
            n_kept += 1
    while step < n_steps:
        _solve(kept, n_kept, value)
        wrong = _wrong_sign(kept, n_kept, value, rules.sign)
        if wrong >= 0:
            allowed[kept.node[wrong], kept.parameter[wrong]] = False
            total += _note(-1, kept.node[wrong], kept.parameter[wrong], prices, kept)
            n_kept = _remove(wrong, rules, kept, n_kept)
            continue
        numbers[step], fall[step], size[step] = total, 0.0, n_kept
        for k in range(n_kept):
            entry[step, k] = kept.node[k] * n_parameters + kept.parameter[k]
            theta[step, k] = value[k]
            fall[step] += kept.length[k] ** 2 / 2
            _bar(rules.bars[rules.column[kept.parameter[k]]], rules.column, allowed)
        step += 1
        if total >= most_numbers or n_kept + 2 > most:
            break
        n_new, rate = _best(quadratic, prices, rules, allowed, kept, pair)
        if n_new == 0 or rate <= _NO_GAIN * fall[step - 1]:
            break
        for k in range(n_new):
            total += _note(1, pair[k, 0], pair[k, 1], prices, kept)
            _add(pair[k, 0], pair[k, 1], quadratic, rules, kept, n_kept)
            n_kept += 1
        _solve(kept, n_kept, value)
        least = _least_missed(prices, rules, kept, n_kept - n_new, n_kept, value, back * rate)
        if least >= 0:
            total += _note(-1, kept.node[least], kept.parameter[least], prices, kept)
            n_kept = _remove(least, rules, kept, n_kept)
    return step


@kernel
def _bar(is_barred, column, allowed):
    """Allow no entries of some columns any more."""
    if is_barred.any():
        for p in range(len(column)):
            if is_barred[column[p]]:
                allowed[:, p] = False


@kernel
def _add(node, parameter, quadratic, rules, kept, n_kept):
    """Make an entry orthogonal to the kept ones, and the rest of all others to it."""
    direction = kept.direction[n_kept]
    n_nodes, n_parameters = direction.shape
    for v in range(n_nodes):
        lower = quadratic.deeper[node, v]
        for p in range(n_parameters):
            direction[v, p] = quadratic.hessian[lower, parameter, p] if lower >= 0 else 0.0
    direction[node, parameter] += quadratic.ridge[node, parameter]
    for k in range(n_kept):
        share = kept.direction[k, node, parameter]
        if share != 0.0:
            _subtract(share, kept.direction[k].ravel(), direction.ravel())
    norm = np.sqrt(direction[node, parameter])
    length = kept.slope[node, parameter] / norm
    for v in range(n_nodes):
        for p in range(n_parameters):
            direction[v, p] /= norm
    _leave(-1.0, length, direction, rules.intercept, kept)
    kept.node[n_kept], kept.parameter[n_kept], kept.length[n_kept] = node, parameter, length
    for k in range(n_kept + 1):
        kept.triangle[k, n_kept] = kept.direction[k, node, parameter]
    _invert_row(kept, n_kept)


@kernel
def _subtract(share, one, other):
    """Take a share of one row of numbers from another, in place."""
    for i in range(one.shape[0]):
        other[i] -= share * one[i]


@kernel
def _leave(sign, length, direction, intercept, kept):
    """Note what a direction that comes (-1) or goes (1) leaves of all entries."""
    for v in range(direction.shape[0]):
        for p in range(direction.shape[1]):
            own = sign * direction[v, p]
            kept.slope[v, p] += length * own
            kept.own[v, p] += direction[v, p] * own
            kept.shared[v, p] += direction[v, intercept[p]] * own


@kernel
def _invert_row(kept, j):
    """The row of the inverse that belongs to the newest direction ``j``."""
    own = kept.inverse[j, :j]
    own[:] = 0.0
    for k in range(j):
        _subtract(kept.triangle[k, j], kept.inverse[k, :j], own)
    own /= kept.triangle[j, j]
    kept.inverse[j, j] = 1.0 / kept.triangle[j, j]


@kernel
def _remove(which, rules, kept, n_kept):
    """Let one of the kept entries go; returns how many are left.

    Without its column the triangle has a number below the diagonal in every later one. A rotation
    of two neighbouring directions takes it away; in the end the last direction has no entry. The
    inverse turns with them.
    """
    last = n_kept - 1
    for k in range(which, last):
        kept.node[k], kept.parameter[k] = kept.node[k + 1], kept.parameter[k + 1]
        kept.triangle[: k + 2, k] = kept.triangle[: k + 2, k + 1]
        kept.inverse[k : last + 1, k] = kept.inverse[k : last + 1, k + 1]
    for k in range(which, last):
        one, other = kept.triangle[k, k], kept.triangle[k + 1, k]
        size = np.sqrt(one * one + other * other)
        cos, sin = one / size, other / size
        _rotate(kept.triangle[k, k:last], kept.triangle[k + 1, k:last], cos, sin)
        _rotate(kept.direction[k].ravel(), kept.direction[k + 1].ravel(), cos, sin)
        _rotate(kept.inverse[k, : k + 1], kept.inverse[k + 1, : k + 1], cos, sin)
        _rotate(kept.length[k : k + 1], kept.length[k + 1 : k + 2], cos, sin)
    _leave(1.0, kept.length[last], kept.direction[last], rules.intercept, kept)
    return last


@kernel
def _rotate(one, other, cos, sin):
    """Turn two rows of numbers, in place."""
    for i in range(one.shape[0]):
        a, b = one[i], other[i]
        one[i], other[i] = cos * a + sin * b, cos * b - sin * a


@kernel
def _solve(kept, n_kept, value):
    """The entries with the least loss: the inverse of the triangle times the lengths."""
    value[:n_kept] = 0.0
    for k in range(n_kept):
        _subtract(-kept.length[k], kept.inverse[k, : k + 1], value[: k + 1])


@kernel
def _wrong_sign(kept, n_kept, value, sign):
    """The newest entry of the wrong sign, -1 if there is none."""
    for k in range(n_kept - 1, -1, -1):
        if sign[kept.parameter[k]] * value[k] < 0:
            return k
    return -1


@kernel
def _note(change, node, parameter, prices, kept):
    """Note that an entry comes (1) or goes (-1); returns by how much there is more to read."""
    kept.is_kept[node, parameter] = change > 0
    is_used = change < 0
    price = change * (
        _price(is_used, parameter, prices, kept) + _splits(is_used, node, prices, kept)
    )
    for group in prices.group_of[parameter]:
        kept.group_uses[group] += change
    v = node
    while v >= 0:
        kept.uses[v] += change
        v = prices.parent[v]
    return price


@kernel
def _splits(is_used, node, prices, kept):
    """Numbers of the splits above a node that no other entry needs; ``is_used`` is one there."""
    total, v = 0, node
    own = 1 if is_used else 0
    while prices.parent[v] >= 0:
        if kept.uses[v] == own and kept.uses[prices.sibling[v]] == 0:
            total += prices.split[prices.parent[v]]
        v = prices.parent[v]
    return total


@kernel
def _price(is_used, parameter, prices, kept):
    """Numbers to read of an entry, but for the splits; ``is_used``: it is kept already."""
    total, own = prices.entry[parameter], 1 if is_used else 0
    for group in prices.group_of[parameter]:
        if kept.group_uses[group] == own:
            total += prices.group[group]
    return total


@kernel
def _best(quadratic, prices, rules, allowed, kept, pair):
    """The entry, or the pair with its node's intercept, that gains most per number.

    Returns how many they are and the gain per number; ``pair`` holds them.
    """
    n_nodes, n_parameters = kept.own.shape
    best, n_new = 0.0, 0
    for v in range(n_nodes):
        opening = _splits(False, v, prices, kept)
        for p in range(n_parameters):
            if not _may_come(v, p, quadratic, rules, allowed, kept) or (
                kept.slope[v, p] * rules.sign[p] < 0
            ):
                continue
            price = opening + _price(False, p, prices, kept)
            gain = kept.slope[v, p] ** 2 / kept.own[v, p] / 2
            if gain > best * price:
                best, n_new = gain / price, 1
                pair[0, 0], pair[0, 1] = v, p
            q = rules.intercept[p]
            if v == 0 or q == p or not _may_come(v, q, quadratic, rules, allowed, kept):
                continue
            both = _gain_of_pair(v, p, q, quadratic, rules, kept)
            price += prices.entry[q]
            if both > best * price:
                best, n_new = both / price, 2
                pair[0, 0], pair[0, 1], pair[1, 0], pair[1, 1] = v, q, v, p
    return n_new, best


@kernel
def _may_come(node, parameter, quadratic, rules, allowed, kept):
    """Whether an entry is allowed, not kept, and no combination of those that are."""
    if not allowed[node, parameter] or kept.is_kept[node, parameter]:
        return False
    return kept.own[node, parameter] > _least_own(node, parameter, quadratic, rules)


@kernel
def _least_own(node, parameter, quadratic, rules):
    """What an entry must have of its own."""
    share = _OWN_SHARE * quadratic.hessian[node, parameter, parameter]
    return share + rules.own_rows * quadratic.ridge[node, parameter]


@kernel
def _gain_of_pair(node, one, other, quadratic, rules, kept):
    """By how much an entry and its node's intercept lower the loss together."""
    product = kept.shared[node, one]
    share = product / kept.own[node, other]
    own = kept.own[node, one] - share * product
    if own <= _least_own(node, one, quadratic, rules):
        return 0.0
    slope = kept.slope[node, one] - share * kept.slope[node, other]
    return slope**2 / own / 2 + kept.slope[node, other] ** 2 / kept.own[node, other] / 2


@kernel
def _least_missed(prices, rules, kept, n_old, n_kept, value, most):
    """The entry without which the loss rises least per number, -1 if by ``most`` or more.

    Only the first ``n_old`` may go, and no intercept for all rows nor what is required.
    """
    found = -1
    for i in range(n_old):
        v, p = kept.node[i], kept.parameter[i]
        if v == 0 and (rules.intercept[p] == p or rules.required[p]):
            continue
        spread = 0.0
        for j in range(i, n_kept):
            spread += kept.inverse[j, i] ** 2
        price = _price(True, p, prices, kept) + _splits(True, v, prices, kept)
        rate = value[i] ** 2 / spread / 2 / price
        if rate < most:
            most, found = rate, i
    return found
