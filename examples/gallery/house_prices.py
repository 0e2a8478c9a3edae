"""
House prices on a postcard
==========================

How much is lost if the whole model must fit on a postcard? 5,000 sales, made here.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from glassleaf import DependenceDisplay, ModelTreeRegressor, PathDisplay, TreeDisplay

# %%
# The table
# ---------
# In the city, what counts is the area and the way to the station; in the country the plot. Prices are
# multiplied by all of that, so the logarithm is modeled: a coefficient of 0.01 is about 1 %.
random = np.random.default_rng(5)
n = 5000
houses = pd.DataFrame(
    {
        "area": random.gamma(10, 13, n).round(),
        "plot": random.gamma(3, 200, n).round(-1),
        "age": random.integers(0, 100, n),
        "km_to_station": random.gamma(2, 2.5, n).round(1),
        "setting": random.choice(["city", "suburb", "country"], n, p=[0.3, 0.4, 0.3]),
        "baths": random.integers(1, 4, n),
    }
)
is_city, is_country = houses["setting"] == "city", houses["setting"] == "country"
log_price = (
    12
    + 0.45 * is_city
    - 0.2 * is_country
    + 0.006 * np.minimum(houses["area"], 180)
    + np.where(is_country, 0.0006, 0.0001) * houses["plot"]
    - np.where(is_city, 0.06, 0.02) * houses["km_to_station"]
    - 0.004 * np.minimum(houses["age"], 50)
    + random.normal(scale=0.12, size=n)
)
train, test, y_train, y_test = train_test_split(houses, log_price, random_state=0)

# %%
# A postcard
# ----------
model = ModelTreeRegressor(max_numbers=20).fit(train, y_train)
model

# %%
# What the length costs
# ---------------------
# A fit keeps the whole way, so that ``at`` gives any length without a new fit.
encoded = pd.get_dummies(train), pd.get_dummies(test)
rows = {"linear model": (LinearRegression().fit(encoded[0], y_train).score(encoded[1], y_test), 9)}
for numbers in (8, 12, 20, 30):
    short = model.at(numbers=numbers)
    rows[f"glassleaf, at most {numbers}"] = short.score(test, y_test), short.complexity_.total
boosted = HistGradientBoostingRegressor(max_iter=60).fit(encoded[0], y_train)
leaves = sum(tree[0].get_n_leaf_nodes() for tree in boosted._predictors)
rows["gradient boosting"] = boosted.score(encoded[1], y_test), 2 * leaves
pd.DataFrame(rows, index=["R² on test rows", "numbers"]).T.round(3)

# %%
PathDisplay.from_estimator(model)

# %%
# The tree, and one of its effects
# --------------------------------
TreeDisplay.from_estimator(model)

# %%
DependenceDisplay.from_estimator(model, test, "km_to_station")
