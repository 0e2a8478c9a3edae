"""Reports of the zoo's models, and of one whose names try to break out of the page."""

import numpy as np
import pandas as pd
import zoo

from glassleaf import ModelTreeClassifier

HOSTILE = [
    "<script>window.broken = 1</script>",
    "</script><img src=x onerror='window.broken = 1'>",
    "quote\" ' ` \\ {{script}} ${x}",
    "line\u2028break\u2029\n\0",
    "x" * 5000,
    "שלום \u202e olleh",
]


def report_of(name):
    table, y = labeled_rows(name)
    return zoo.case(name).model.report(table, y), table


def labeled_rows(name):
    kind = zoo.SETTINGS[name][0]
    rng = np.random.default_rng(1)
    table, score = zoo.training_table(rng, 400)
    y = zoo.target(kind, score, rng)
    return zoo.with_known(name, table, rng), y


def hostile_model():
    rng = np.random.default_rng(0)
    n = 800
    X = pd.DataFrame({name: rng.normal(size=n) for name in HOSTILE[:4]})
    X[HOSTILE[4]] = rng.choice(HOSTILE, size=n).astype(object)
    X[HOSTILE[5]] = rng.choice(["a", "b", None], size=n).astype(object)
    x = X[HOSTILE[0]]
    side = np.where(X[HOSTILE[4]].isin(HOSTILE[:3]), 1.0, -1.0)
    raised = side * x + 0.5 * X[HOSTILE[1]] + 0.3 * rng.logistic(size=n)
    y = np.where(raised > 0, HOSTILE[0], HOSTILE[5])
    return ModelTreeClassifier(max_depth=2, n_jobs=1).fit(X, y), X, y
