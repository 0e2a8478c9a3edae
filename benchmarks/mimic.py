"""A model tree that mimics XGBoost, on three datasets: how close it comes, and what it costs.

    GLASSLEAF_DATA=folder python -m benchmarks.mimic

Test rows are a quarter that neither model was fitted on. The mimic is fitted to the teacher's
predictions on the training rows; "tree alone" is the same tree fitted to the target itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier, XGBRegressor

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, mimic
from reproduction.datasets import adult, credit_card, house

PARAMETERS = {"max_leaf_nodes": 16, "max_depth": 6, "clamp": True}


def score(model: Any, X: pd.DataFrame, y: np.ndarray) -> float:
    """R2, or the area under the ROC curve."""
    if hasattr(model, "predict_proba"):
        return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))
    return float(r2_score(y, model.predict(X)))


def main() -> None:
    print(
        "| data | score | XGBoost | mimic | tree alone | R2 to teacher | agreement | worst leaf |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for load in (adult, credit_card, house):
        data = load()
        is_number = data.loss == "squared_error"
        X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.25, random_state=0)
        boosted = (XGBRegressor if is_number else XGBClassifier)(
            n_estimators=200, max_depth=5, learning_rate=0.1, enable_categorical=True
        ).fit(X, y)
        found = mimic(boosted, X, **PARAMETERS)
        alone = (ModelTreeRegressor if is_number else ModelTreeClassifier)(**PARAMETERS).fit(X, y)
        scores = [score(model, X_test, y_test) for model in (boosted, found.student, alone)]
        fidelity, worst = found.fidelity, found.fidelity.worst_leaf
        agreement = "" if fidelity.agreement is None else f"{fidelity.agreement:.3f}"
        print(
            f"| {data.name} | {'R2' if is_number else 'AUC'} | {scores[0]:.4f}"
            f" | {scores[1]:.4f} | {scores[2]:.4f} | {fidelity.r2:.3f}"
            f" | {agreement} | {worst.rule_text} ({worst.rows} rows, mean difference"
            f" {worst.mean_difference:.3g}) |"
        )


if __name__ == "__main__":
    main()
