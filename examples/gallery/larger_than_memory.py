"""
A folder larger than memory
===========================

A tree is grown from sums over rows, so the rows need not be in memory. Here is a small folder of Parquet
files; a large one is used in the same way, with the memory of one part of it.
"""

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from glassleaf import ModelTreeRegressor, PathDisplay

# %%
# The folder
# ----------
# Eight files of 20,000 rows: trips by taxi, and how long they took. At the rush hour each kilometer
# takes longer.
folder = Path(tempfile.mkdtemp())


def trips(seed, n=20_000):
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "km": random.gamma(2.0, 2.5, n).round(1),
            "hour": random.integers(0, 24, n),
            "rain": random.choice(["yes", "no"], n, p=[0.2, 0.8]),
        }
    )
    is_rush = table["hour"].between(16, 19)
    per_km = np.where(is_rush, 4.5, 2.2) + 0.5 * (table["rain"] == "yes")
    return table.assign(minutes=4 + per_km * table["km"] + random.normal(scale=2, size=n))


for part in range(8):
    trips(part).to_parquet(folder / f"part-{part}.parquet", index=False)

# %%
# Fit the folder
# --------------
# Give the path, and the name of the target's column. ``backend="stream"`` reads a part at a time.
start = time.perf_counter()
model = ModelTreeRegressor(backend="stream", max_numbers=20).fit(folder, "minutes")
print(f"{model.tree_.n_samples[0]:,} rows in {time.perf_counter() - start:.1f} s")
model

# %%
# The same tree as from memory
# ----------------------------
# Sums do not care where the rows are.
table = pd.concat([trips(part) for part in range(8)], ignore_index=True)
here = ModelTreeRegressor(max_numbers=20).fit(table.drop(columns="minutes"), table["minutes"])
print("same splits:", np.array_equal(here.tree_.threshold, model.tree_.threshold, equal_nan=True))
apart = np.abs(
    here.predict(table.drop(columns="minutes")) - model.predict(table.drop(columns="minutes"))
)
print(f"largest difference of predictions: {apart.max():.1e}")

# %%
# And on other rows:
fresh = trips(99)
print(f"R² {model.score(fresh.drop(columns='minutes'), fresh['minutes']):.3f}")
figure, axes = plt.subplots(figsize=(6, 3.5))
for hour, color in ((10, "#0b4f9e"), (17, "#e07b00")):
    rows = pd.DataFrame({"km": np.linspace(0, 15, 50), "hour": hour, "rain": "no"})
    axes.plot(rows["km"], model.predict(rows), color=color, label=f"at {hour}:00")
axes.set(xlabel="km", ylabel="minutes")
axes.legend()

# %%
# Clusters work in the same way: ``backend="dask"``, or the address of a scheduler
# (:doc:`/scaling`).
PathDisplay.from_estimator(model)
