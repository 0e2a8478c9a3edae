"""
Monitoring drift
================

A model is in use, and the true outcomes come months later. Do the rows of this month still look like those
of the fit? The model file keeps a small histogram of every column and of the score; new rows are counted
in the same bins.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from glassleaf import ModelTreeRegressor, monitor

# %%
# A model of delivery times
# -------------------------


def deliveries(seed, n=3000, share_of_bikes=0.3, extra_km=0.0):
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "km": (random.gamma(2.0, 2.0, n) + extra_km).round(1),
            "vehicle": np.where(random.uniform(size=n) < share_of_bikes, "bike", "car"),
            "items": random.poisson(2.0, n) + 1,
        }
    )
    per_km = np.where(table["vehicle"] == "bike", 4.0, 2.5)
    return table, 10 + per_km * table["km"] + table["items"] + random.normal(scale=3, size=n)


X, minutes = deliveries(0)
model = ModelTreeRegressor(max_numbers=12).fit(X, minutes)
model

# %%
# A quiet month
# -------------
# Nothing has changed. What differs by chance is taken off, and a change counts only if it is significant.
monitor(model, deliveries(1)[0]).to_frame()

# %%
# A year of months
# ----------------
# From July on, more bikes are used, and the ways grow longer month by month.
months = {
    month: deliveries(month, 1500, 0.3 if month < 7 else 0.5, 0.25 * max(0, month - 6))[0]
    for month in range(1, 13)
}
found = {month: monitor(model, rows).to_frame().set_index("name") for month, rows in months.items()}
sizes = pd.DataFrame({month: frame["psi"] for month, frame in found.items()}).T
figure, axes = plt.subplots(figsize=(7, 3.5))
for name in ("km", "vehicle", "items"):
    axes.plot(sizes.index, sizes[name], "o-", label=name)
axes.axhline(0.1, color="#cccccc")
axes.axhline(0.25, color="#cc6666")
axes.set(xlabel="month", ylabel="population stability index")
axes.legend()

# %%
# The lines are the usual limits: from 0.1 on a change is worth a look, from 0.25 on it is large. What
# changed in December:
[changed.name for changed in monitor(model, months[12]).changed(0.1)]

# %%
# A nightly job does the same with ``glassleaf monitor model.json new.csv``: its exit code is 3 if something
# changed (:doc:`/production`). A change of the rows does not say that the model is wrong; outcomes do, when
# they come.
