"""
Credit scoring: signs and reason codes
======================================

A bank wants a score that it can defend: more income never hurts, more debt never helps, and every refusal
comes with reasons. The table is made here, so that the truth is known.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from glassleaf import CalibrationDisplay, DependenceDisplay, ModelTreeClassifier, reasons
from glassleaf.export import to_scorecard

# %%
# The table
# ---------
# 10,000 loans. Income says much about people with a salary and little about the self-employed;
# of these, late payments say more.
random = np.random.default_rng(3)
n = 10_000
loans = pd.DataFrame(
    {
        "income": random.lognormal(7.9, 0.45, n).round(-1),
        "debt": random.gamma(1.6, 6000, n).round(-2),
        "late_payments": random.poisson(0.7, n),
        "years_customer": random.integers(0, 25, n),
        "work": random.choice(["salaried", "self-employed"], n, p=[0.7, 0.3]),
    }
)
is_salaried = loans["work"] == "salaried"
risk = (
    -1.0
    - np.where(is_salaried, 0.0009, 0.0) * np.minimum(loans["income"], 4000)
    + np.where(is_salaried, 0.3, 1.3) * loans["late_payments"]
    + 0.00006 * loans["debt"]
    - 0.08 * np.minimum(loans["years_customer"], 10)
)
outcome = np.where(risk + random.logistic(size=n) > 0, "default", "repaid")
train, test, y_train, y_test = train_test_split(loans, outcome, random_state=0, stratify=outcome)
print(f"{np.mean(outcome == 'default'):.1%} default")

# %%
# The model
# ---------
# ``monotonic_cst`` says which columns may only raise (1) or only lower (-1) the probability of default. It
# holds for the whole model, at every point, not only on average. ``reason_codes`` are the bank's own.
model = ModelTreeClassifier(
    positive_class="default",
    max_numbers=20,
    monotonic_cst={"income": -1, "debt": 1, "late_payments": 1, "years_customer": -1},
    reason_codes={
        "income": ("R01", "Income too low"),
        "debt": ("R02", "Too much debt"),
        "late_payments": ("R03", "Late payments in the last year"),
        "years_customer": ("R04", "Short time as a customer"),
        "work": ("R05", "Kind of employment"),
    },
).fit(train, y_train)
model

# %%
# What late payments add to the log-odds of default. In every leaf it goes one way only.
DependenceDisplay.from_estimator(model, test, "late_payments")

# %%
# How good is it?
# ---------------
# Beside logistic regression on the same columns, on rows that neither saw.
encoded = pd.get_dummies(train), pd.get_dummies(test)
logistic = LogisticRegression(max_iter=5000).fit(encoded[0] / encoded[0].max(), y_train)
scores = {
    "logistic regression": logistic.predict_proba(encoded[1] / encoded[0].max())[:, 0],
    "glassleaf": model.predict_proba(test)[:, list(model.classes_).index("default")],
}
for name, probability in scores.items():
    print(f"AUC {roc_auc_score(y_test == 'default', probability):.3f}  {name}")

# %%
# A probability of 20 % should mean that 20 of 100 such loans default.
CalibrationDisplay.from_estimator(model, test, y_test)

# %%
# Reasons for a refusal
# ---------------------
# The three riskiest applicants, and what hurt each of them most. With ``background`` reasons are Shapley
# values against the rows of training, so that splits count as well.
order = scores["glassleaf"].argsort()[::-1][:3]
refused = test.iloc[order]
refused

# %%
found = reasons(model, refused, k=3, favorable="repaid", background=train[:500])
found.to_frame()

# %%
# The same model as a scorecard
# -----------------------------
# Points for people who add them up on paper: 20 more points double the odds of repaying.
card = to_scorecard(model, train, y_train, bins="auto", base_score=600, base_odds=50, pdo=20)
pd.DataFrame(card.rows())[["segment", "column", "attribute", "points", "count"]].head(14)
