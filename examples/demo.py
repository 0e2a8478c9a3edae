"""Fit model trees to data that comes with scikit-learn; print their scores, and the trees in words.

Run it with ``make demo``, or ``python examples/demo.py`` where glassleaf and pandas are installed.
Every number it prints is measured while it runs.
"""

from __future__ import annotations

import sys
import textwrap
from typing import Any

import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from glassleaf import ModelTreeClassifier, ModelTreeRegressor

WIDTH = 84
N_FOLDS = 5
# A model of at most so many numbers is read in a minute.
SHORT = 20


def main() -> None:
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    # The first fit on a machine compiles the kernels, and says so: better here than amid a table.
    ModelTreeRegressor(max_depth=0).fit([[0.0], [1.0]], [0.0, 1.0])
    friedman()
    diabetes()
    breast_cancer()


# --- the three datasets --------------------------------------------------------------------------


def friedman() -> None:
    values, y = make_friedman1(n_samples=1000, noise=1.0, random_state=0)
    X = pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])
    heading(
        "1  Friedman's function: what a straight line cannot follow",
        "1,000 rows of y = 10 sin(pi x0 x1) + 20 (x2 - 0.5)^2 + 10 x3 + 5 x4 + noise; x5 to x9 mean"
        f" nothing. R2 of {N_FOLDS}-fold cross-validation.",
    )
    short = ModelTreeRegressor(max_depth=2, max_numbers=SHORT)
    models = {**regressors(), f"the same, {SHORT} numbers": short}
    compare(models, X, y, KFold(N_FOLDS, shuffle=True, random_state=0), "r2")
    print()
    print(f"The last one, all of it, in {SHORT} numbers:")
    show_tree(short.fit(X, y))


def diabetes() -> None:
    data = load_diabetes(as_frame=True, scaled=False)
    X, y = data.data, data.target
    heading(
        "2  Diabetes: how far has the disease progressed after a year?",
        f"{X.shape[0]} patients, {X.shape[1]} measurements. R2 of {N_FOLDS}-fold cross-validation."
        " Few and noisy rows: is any split significant?",
    )
    compare(regressors(), X, y, KFold(N_FOLDS, shuffle=True, random_state=0), "r2")
    show_tree(ModelTreeRegressor(max_depth=1).fit(X, y))


def breast_cancer() -> None:
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    heading(
        "3  Breast cancer: is the tumor malignant?",
        f"{X.shape[0]} tumors, {X.shape[1]} measurements. AUC of {N_FOLDS}-fold cross-validation.",
    )
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    compare(
        {
            "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
            "decision tree, depth 2": DecisionTreeClassifier(max_depth=2, random_state=0),
            "decision tree, full depth": DecisionTreeClassifier(random_state=0),
            "model tree, depth 1": ModelTreeClassifier(max_depth=1),
            "model tree, depth 2": ModelTreeClassifier(max_depth=2),
        },
        X, y, folds, "roc_auc",
    )  # fmt: skip
    show_tree(ModelTreeClassifier(max_depth=1).fit(X, y))


def regressors() -> dict[str, Any]:
    return {
        "linear regression": LinearRegression(),
        "decision tree, depth 2": DecisionTreeRegressor(max_depth=2, random_state=0),
        "decision tree, full depth": DecisionTreeRegressor(random_state=0),
        "model tree, depth 1": ModelTreeRegressor(max_depth=1),
        "model tree, depth 2": ModelTreeRegressor(max_depth=2),
    }


# --- scores --------------------------------------------------------------------------------------


def compare(models: dict[str, Any], X: Any, y: Any, folds: Any, scoring: str) -> None:
    print(f"  {'':26}   mean    spread over folds    leaves on all rows")
    for name, model in models.items():
        scores = cross_val_score(model, X, y, cv=folds, scoring=scoring)
        leaves = count_leaves(model, X, y)
        print(f"  {name:26} {scores.mean():6.3f}    +- {scores.std():.3f} {leaves:>30}")


def count_leaves(model: Any, X: Any, y: Any) -> int:
    """Leaves of the model on all rows; a linear model is a tree that is all leaf."""
    fitted = model.fit(X, y)
    return int(fitted.get_n_leaves()) if hasattr(fitted, "get_n_leaves") else 1


# --- on the screen -------------------------------------------------------------------------------


def show_tree(model: Any, max_terms: int | None = 6) -> None:
    """The tree that was fitted to all rows, as the library prints it."""
    print()
    if model.get_n_leaves() == 1:
        print(f"No split is significant ({model.significance:g}): one formula for all rows.\n")
    for line in model.export_text(max_terms).splitlines():
        print(textwrap.fill(line, 100, subsequent_indent="    ") if len(line) > 100 else line)


def heading(title: str, text: str) -> None:
    print()
    print("─" * WIDTH)
    print(title)
    print("─" * WIDTH)
    print(textwrap.fill(text, WIDTH))
    print()


if __name__ == "__main__":
    main()
