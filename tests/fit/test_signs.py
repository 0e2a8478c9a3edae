"""Slopes of finished models keep their signs, and broken lines are told by pieces."""

import numpy as np
import pandas as pd
from whole_models import ModelTreeRegressor

from glassleaf.fit.signs import by_pieces, keeping_signs, with_signs


def bent(rng):
    X = pd.DataFrame(rng.uniform(-1, 1, size=(800, 2)), columns=["a", "b"])
    y = np.clip(X["a"], -0.5, 0.3) + X["b"] ** 2 + 0.02 * rng.normal(size=800)
    return ModelTreeRegressor(max_depth=1, clamp=False, monotonic_cst={"a": 1}).fit(X, y).tree_


def test_pieces_against_a_sign_become_flat(rng):
    tree = bent(rng)
    chain = [0, *tree.terms.hinge_terms(0)]
    assert len(chain) > 2
    coef = rng.normal(size=tree.coef.shape)
    for sign in (1, -1):
        found = with_signs(coef, tree.terms, np.array([sign, 0], dtype=np.int8))
        slopes = sign * np.cumsum(found[:, chain], axis=1)
        assert (slopes >= -1e-15).all() and (slopes > 0).any()
        others = np.setdiff1d(np.arange(tree.terms.n_terms), chain)
        np.testing.assert_array_equal(found[:, others], coef[:, others])
        # Pieces before the first wrong one are as they were.
        kept = np.cumprod(sign * np.cumsum(coef[:, chain], axis=1) >= 0, axis=1, dtype=bool)
        np.testing.assert_array_equal(found[:, chain][kept], coef[:, chain][kept])


def test_what_keeps_its_signs_stays(rng):
    tree = bent(rng)
    assert keeping_signs(tree, np.array([1, 0], dtype=np.int8)) == tree
    assert keeping_signs(tree, np.zeros(2, dtype=np.int8)) is tree


def test_pieces_add_up_to_the_coefficients(rng):
    terms = bent(rng).terms
    line, first, second = 0, *terms.hinge_terms(0)[:2]
    own = {line: 0.5, first: -0.5, second: 2.0}
    found = by_pieces(own, terms, 0)
    assert found == {(line, first): 0.5, (second,): 2.0}
    assert by_pieces({first: 1.0, second: -1.0}, terms, 0) == {(first, second): 1.0}
    assert by_pieces({}, terms, 0) == {}
