"""A tree far deeper than anyone should want: every split cuts off one value."""

from dataclasses import replace

import numpy as np

from glassleaf import ModelTreeRegressor


def deep_model(depth=150, to_left=False):
    """The chain of splits leads to the right, or to the left."""
    X = np.arange(depth + 2.0)[:, None]
    model = ModelTreeRegressor(max_depth=0).fit(X, X[:, 0])
    n_nodes = 2 * depth + 1
    node = np.arange(n_nodes, dtype=np.int32)
    inner = (node % 2 == 0) & (node < n_nodes - 1)  # its left child is a leaf
    tree, columns, flags = model.tree_, np.zeros((n_nodes, 1)), np.zeros(n_nodes, dtype=bool)
    deep = replace(
        tree, feature=np.where(inner, 0, -1).astype(np.int32),
        threshold=np.where(inner, depth - node / 2.0 if to_left else node / 2.0, np.nan),
        left=np.where(inner, node + (2 if to_left else 1), -1).astype(np.int32),
        right=np.where(inner, node + (1 if to_left else 2), -1).astype(np.int32),
        missing_left=flags, unknown_left=flags, first_category=np.full(n_nodes, -1),
        coef=columns + 0.5, intercept=node * 3.0, clamp_low=columns - np.inf,
        clamp_high=columns + np.inf, score_low=np.full(n_nodes, -np.inf),
        score_high=np.full(n_nodes, np.inf), n_samples=node.astype(np.int64), weight=node * 1.0,
        gain=node * 1.0, loss=node * 1.0, training_record=None,
    )  # fmt: skip
    model.model_ = replace(model.model_, tree=deep)
    return model, X
