"""
Insurance: claim frequency with exposure and a rate table
=========================================================

How many claims a year does a policy bring? Policies are insured for parts of a year, and what leaves the
model in the end is a rate table: a base rate, and factors that multiply it.
"""

import numpy as np
import pandas as pd
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import train_test_split

from glassleaf import LiftDisplay, ModelTreeRegressor, relativities

# %%
# The table
# ---------
# 20,000 policies. Young drivers of strong cars claim most; beyond 26 the power of the car matters less.
random = np.random.default_rng(11)
n = 20_000
policies = pd.DataFrame(
    {
        "age": random.integers(18, 85, n),
        "power": random.integers(4, 16, n),
        "car_age": random.integers(0, 20, n),
        "area": random.choice(list("ABCD"), n, p=[0.3, 0.3, 0.25, 0.15]),
        "years": random.uniform(0.1, 1.0, n).round(2),
    }
)
rate = np.exp(
    -2.3
    + np.where(policies["age"] < 26, 0.12, 0.03) * (policies["power"] - 4)
    - 0.01 * np.minimum(policies["age"] - 18, 30)
    + policies["area"].map({"A": 0.0, "B": 0.0, "C": 0.2, "D": 0.5})
)
claims = random.poisson(rate * policies["years"])
train, test, y_train, y_test = train_test_split(policies, claims, random_state=0)
print(f"{claims.sum():,} claims in {policies['years'].sum():,.0f} years of insurance")

# %%
# The model
# ---------
# Name the column of exposure; it is then no feature. The model learns the rate per year.
model = ModelTreeRegressor(loss="poisson", max_numbers=20).fit(train, y_train, exposure="years")
model

# %%
# Share of the deviance that it explains, on other policies; 0 is one rate for all. Single claims are mostly
# chance, so even the true rates explain little.
for name, expected in {
    "one rate for all": np.full(len(test), y_train.sum() / train["years"].sum()) * test["years"],
    "glassleaf": model.predict(test),
    "the true rates": rate[test.index] * test["years"],
}.items():
    shown = d2_tweedie_score(
        y_test / test["years"], expected / test["years"], sample_weight=test["years"], power=1
    )
    print(f"D² {shown:.3f}  {name}")

# %%
# Policies sorted by their predicted rate: do those with a high one claim more?
LiftDisplay.from_estimator(model, test, y_test)

# %%
# The rate table
# --------------
# One table for all policies, and the few factors that differ in a segment.
book = relativities(model, train, y_train, base={"area": "A"})
pd.DataFrame(book.rows())

# %%
# A premium by hand is the product of its lines; ``book.rate`` multiplies them. How far the rounded bands
# and the model are apart at most, on these policies:
print(f"{book.rounding:.1%}")
print(book.rate(test[:3]).round(4), (model.predict(test[:3]) / test["years"][:3]).round(4).tolist())
