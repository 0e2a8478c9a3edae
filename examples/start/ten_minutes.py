"""
Ten minutes
===========

From a table to a model that you can read, check and hand on. The table is made here, so that the truth is
known: the monthly rent of 4,000 flats.
"""

# %%
# The table
# ---------
# Rent grows with area and falls with the way to the center. Old houses and new ones are dear, those in
# between are not. A high floor is worth something if there is a lift. Without one it is a burden: a
# straight line cannot say that.
import numpy as np
import pandas as pd

random = np.random.default_rng(7)
n = 4000
flats = pd.DataFrame(
    {
        "area": random.gamma(9, 8, n).round(),
        "floor": random.integers(0, 9, n),
        "lift": random.choice(["yes", "no"], n),
        "year": random.integers(1890, 2025, n),
        "km_to_center": random.gamma(2.5, 2, n).round(1),
        "balcony": random.choice(["yes", "no"], n),
    }
)
rent = (
    350
    + 11 * flats["area"]
    - 25 * flats["km_to_center"]
    + np.where(flats["lift"] == "yes", 22, -38) * flats["floor"]
    + 4 * np.abs(flats["year"] - 1960)
    + random.normal(scale=90, size=n)
).round()
flats.assign(rent=rent).head()

# %%
# Fit, as in scikit-learn
# -----------------------
# Text columns are categories; nothing has to be encoded or scaled. ``max_numbers=12`` asks for a model of
# at most 12 numbers. Without it, glassleaf takes as many as pay for themselves.
from sklearn.model_selection import train_test_split

from glassleaf import ModelTreeRegressor

train, test, y_train, y_test = train_test_split(flats, rent, random_state=0)
model = ModelTreeRegressor(max_numbers=12).fit(train, y_train)
model

# %%
# That is the whole model: one formula for all rows and, at each split, what differs. The notebook shows
# it because the fitted estimator stands in the last line; ``print(model.export_text())`` says it in text.
print(model.export_text())

# %%
# Read it against the truth above. The model found that floors count one way with a lift and the other way
# without, where the years bend, what a square meter costs, and that balconies mean nothing here.

# %%
# Is it any good?
# ---------------
# Beside a linear model with encoded categories, and beside gradient boosting with thousands of numbers.
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

encode = make_column_transformer(
    (OneHotEncoder(drop="first"), ["lift", "balcony"]), remainder="passthrough"
)
models = {
    "linear model": make_pipeline(encode, LinearRegression()),
    "glassleaf, 12 numbers": model,
    "gradient boosting": make_pipeline(encode, HistGradientBoostingRegressor(max_iter=60)),
}
scores = {name: m.fit(train, y_train).score(test, y_test) for name, m in models.items()}
pd.Series(scores, name="R² on test rows").round(3).to_frame()

# %%
# How simple may it be?
# ---------------------
# A fit keeps the whole way from the shortest model to the longest. The picture shows what each number
# buys, in cross-validation; ``model.at(numbers=8)`` takes another step of it without a new fit.
from glassleaf import PathDisplay

PathDisplay.from_estimator(model)

# %%
print(model.at(numbers=8).export_text().split("Features")[0])

# %%
# Look at it
# ----------
# Every picture is drawn by its ``from_estimator``. This one shows the tree with the effects in its leaves.
from glassleaf import TreeDisplay

TreeDisplay.from_estimator(model)

# %%
# Why this rent?
# --------------
# Contributions add up to the prediction. Each says how far a column moves this flat from the average.
from glassleaf import RowDisplay, explain

flat = test.iloc[[0]]
print(flat.to_string(index=False))
print(explain(model, flat)[0].to_text())
RowDisplay.from_estimator(model, flat)

# %%
# How far may it be off?
# ----------------------
# Rows that the fit did not see say so. Of such intervals, about 90 % hold the true rent.
half = len(test) // 2
model.calibrate(test[:half], y_test[:half])
low, high = model.predict_interval(test[half:], coverage=0.9).T
inside = (low <= y_test[half:]) & (y_test[half:] <= high)
print(f"{inside.mean():.1%} of {len(inside)} rents lie within")
print(f"the first interval: {low[0]:.0f} to {high[0]:.0f}")

# %%
# Hand it on
# ----------
# One self-contained page for people, one file for machines, and SQL for the database.
import tempfile
from pathlib import Path

from glassleaf import load_scorer
from glassleaf.export import to_sql

folder = Path(tempfile.mkdtemp())
model.report(test[half:], y_test[half:], title="Rent").write(folder / "report.html")
model.save(folder / "model.json")
score = load_scorer(folder / "model.json")  # needs the standard library alone
print(f"{score(dict(test.iloc[0])):.2f} = {model.predict(flat)[0]:.2f}")
print(to_sql(model, table="flats")[:420], "...")

# %%
# Where to go on: the :doc:`gallery </gallery/index>` has whole stories, the :doc:`guide </guide>` is
# sorted by task.
