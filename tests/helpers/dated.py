"""Tables with a column of dates, and targets that depend on all its parts."""

import numpy as np
import pandas as pd

from glassleaf import ModelTreeRegressor

# How the column is held: whole days, stamps by the second, stamps of a zone far from UTC.
KINDS = ("date", "stamp", "zoned")


def table(kind, n_rows=1200, seed=0):
    """A table with a column ``when``, of which some is missing, and a target."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(0, 1400 * 86_400, n_rows)
    seconds = seconds // 86_400 * 86_400 if kind == "date" else seconds
    when = pd.Timestamp("2013-01-01") + pd.to_timedelta(seconds, unit="s")
    x = rng.normal(size=n_rows)
    y = 3 * x + np.where(when >= pd.Timestamp("2015-03-01"), 4 * x + 1, 0.0)
    y += 2 * when.month.isin([6, 7, 8]) + 1.5 * (when.day_of_week >= 5) + 0.05 * when.hour
    X = pd.DataFrame({"x": x, "when": when})
    if kind == "zoned":
        X["when"] = X["when"].dt.tz_localize("UTC").dt.tz_convert("America/New_York")
    X.loc[::50, "when"] = pd.NaT
    return X, np.asarray(y + rng.normal(scale=0.3, size=n_rows))


def model(kind, **parameters):
    """A model of such a table."""
    X, y = table(kind)
    return ModelTreeRegressor(max_depth=2, **parameters).fit(X, y)


def texts(X):
    """The dates as ISO texts, None where they are missing."""
    zone = "%z" if X["when"].dt.tz is not None else ""
    found = X["when"].dt.strftime(f"%Y-%m-%dT%H:%M:%S{zone}")
    return [None if pd.isna(text) else text for text in found]


def parts(X):
    """The table as the model knows it, by pandas: an oracle."""
    when = X["when"]
    if when.dt.tz is not None:
        when = when.dt.tz_convert("UTC").dt.tz_localize(None)
    return pd.DataFrame(
        {
            "x": X["x"],
            "when": (when - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1),
            "month of when": when.dt.strftime("%b"),
            "weekday of when": when.dt.strftime("%a"),
            "hour of when": when.dt.hour,
        }
    )
