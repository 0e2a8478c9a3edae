"""
Choosing how simple: the path
=============================

The temperature of the Pacific off Peru, month by month from 1950 to 2010 (the "El Niño" table ships with
statsmodels). How many numbers does it take to describe a year?
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score

from glassleaf import ModelTreeRegressor, PathDisplay

wide = sm.datasets.elnino.load_pandas().data
long = wide.melt(id_vars="YEAR", var_name="name", value_name="temperature")
X = pd.DataFrame({"year": long["YEAR"], "month": 1 + long.groupby("YEAR").cumcount()})
y = long["temperature"]
X.assign(temperature=y).sort_values(["year", "month"]).head(3)

# %%
# One fit, all lengths
# --------------------
# The path holds a model for every length, with its cross-validated loss. The default takes the shortest
# that is within one standard error of the best.
model = ModelTreeRegressor().fit(X, y)
PathDisplay.from_estimator(model)

# %%
model

# %%
# Shorter, by hand
# ----------------
for numbers in (4, 6, 10):
    short = model.at(numbers=numbers)
    print(short.export_text().split("\n\n")[1], "\n")

# %%
# What each says about the year
# -----------------------------
months = pd.DataFrame({"year": 1980, "month": np.linspace(1, 12, 200)})
figure, axes = plt.subplots(figsize=(7, 3.5))
axes.plot(X["month"] + np.random.default_rng(0).uniform(-0.2, 0.2, len(X)), y, ".", color="#cccccc")
for numbers, color in ((4, "#e07b00"), (6, "#4c9a2a"), (10, "#0b4f9e")):
    short = model.at(numbers=numbers)
    label = f"{short.complexity_.total} numbers"
    axes.plot(months["month"], short.predict(months), color=color, label=label)
axes.set(xlabel="month", ylabel="°C")
axes.legend()

# %%
# How good they are
# -----------------
folds = KFold(5, shuffle=True, random_state=0)
for name, one in {
    "linear": LinearRegression(),
    "6 numbers": ModelTreeRegressor(max_numbers=6),
    "10 numbers": ModelTreeRegressor(max_numbers=10),
    "default": ModelTreeRegressor(),
}.items():
    print(f"R² {cross_val_score(one, X, y, cv=folds).mean():.3f}  {name}")
