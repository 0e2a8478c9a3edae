"""
A model of your own in the leaves
=================================

Any model that is trained by its gradient may stand in the leaves. Here it is a wave: what a sine of one
column and a straight line of another explain, in two regions that glassleaf has to find.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from glassleaf import ModelTreeRegressor

# %%
# The table
# ---------
# A signal with a daily wave. From a load of 0.6 on, the wave turns around.
random = np.random.default_rng(2)
n = 3000
hour, load = random.uniform(0, 24, n), random.uniform(0, 1, n)
X = np.column_stack([hour, load])
turn = np.where(load > 0.6, -1.0, 1.0)
y = turn * np.sin(2 * np.pi * hour / 24) + 0.5 * load + random.normal(scale=0.2, size=n)

# %%
# The model
# ---------
# Three methods: fit, predict, and the gradient of each row's loss by the parameters. The columns come
# standardized over all rows, so the model is told the center and spread of the hours. The hour stands in
# the leaves; only the load may split.


@dataclass(frozen=True)
class Wave:
    """Least squares on sine and cosine of the day, on the load, and a constant."""

    center: float
    spread: float

    def terms(self, X):
        angle = 2 * np.pi * (self.center + self.spread * X[:, 0]) / 24
        return np.column_stack([np.sin(angle), np.cos(angle), X[:, 1], np.ones(len(X))])

    def fit(self, X, y, weight, start):
        terms = self.terms(X)
        weighted = terms * weight[:, None]
        return np.linalg.solve(weighted.T @ terms + 1e-6 * np.eye(4), weighted.T @ y)

    def raw(self, model, X):
        return self.terms(X) @ model

    def gradients(self, model, X, y):
        return (self.raw(model, X) - y)[:, None] * self.terms(X)


wave = Wave(hour.mean(), hour.std())
model = ModelTreeRegressor(weak_model=wave, criterion="gradient", split_features=[1], max_depth=1)
model.fit(X, y)
print(f"split: column {model.tree_.feature[0]} at {model.tree_.threshold[0]:.3f}")
print(f"R² {model.score(X, y):.3f} with 4 numbers in a leaf")
lines = ModelTreeRegressor().fit(X, y)
print(
    f"R² {lines.score(X, y):.3f} of the default, broken lines with {lines.complexity_.total} numbers"
)

# %%
# One wave per leaf
# -----------------
grid = np.linspace(0, 24, 200)
figure, axes = plt.subplots(figsize=(7, 3.5))
for value, color in ((0.3, "#0b4f9e"), (0.8, "#e07b00")):
    near = np.abs(load - value) < 0.1
    axes.plot(hour[near], y[near], ".", color=color, alpha=0.25)
    rows = np.column_stack([grid, np.full(200, value)])
    axes.plot(grid, model.predict(rows), color=color, label=f"load {value}")
axes.set(xlabel="hour", ylabel="signal")
axes.legend()

# %%
# The models of all nodes are in ``tree_.custom.models``: sine, cosine, load, constant.
print(np.round(model.tree_.custom.models[1:], 2))
