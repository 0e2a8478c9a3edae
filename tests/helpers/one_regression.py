"""The design matrix of a table of estimates, from its words alone: what statsmodels is given."""

import re

import numpy as np


def design(table, frame):
    """One column per line of ``glassleaf.inference``, in its order."""
    return np.column_stack([
        term(text, frame) * rows(where, frame)
        for where, text in zip(table["where"], table["term"], strict=True)
    ])  # fmt: skip


def term(text, frame):
    """``x``, ``max(0, x - 1)``, ``min(x, 1)``, ``clip(x, 0, 1)``, ``[c = u]`` of a table."""
    if text == "constant":
        return np.ones(len(frame))
    found = re.fullmatch(r"\[(\w+) = (\w+)\]", text)
    if found:
        return (frame[found[1]] == found[2]).to_numpy(dtype=float)
    names = {name: frame[name].to_numpy() for name in frame}
    return eval(text, {"max": np.maximum, "min": np.minimum, "clip": np.clip}, names)


def rows(where, frame):
    """Whether every row meets a rule."""
    out = np.ones(len(frame), dtype=bool)
    if where == "all rows":
        return out
    for condition in where.rpartition(": ")[2].split(" and "):
        *low, name, sign, value = condition.split(" ")  # "a > 1", "0 < a ≤ 1"
        values = frame[name].to_numpy()
        out &= values <= float(value) if sign == "≤" else values > float(value)
        if low:
            out &= values > float(low[0])
    return out
