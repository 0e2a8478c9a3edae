"""Peak memory of fitting Census, as a table of categories and as a one-hot encoded array.

    GLASSLEAF_DATA=folder python benchmarks/bench_memory.py [native|one-hot]

The peak is the process's own (resident), everything included: Python, libraries and the data.
"""

from __future__ import annotations

import resource
import sys

import numpy as np
import pandas as pd

from glassleaf import ModelTreeClassifier, datasets, paper_settings


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    kind = sys.argv[1] if len(sys.argv) > 1 else "native"
    data = datasets.census()
    X = data.X
    if kind == "one-hot":
        X = pd.get_dummies(X, dtype=np.float32).to_numpy(np.float32)
    before = peak_megabytes()
    ModelTreeClassifier(**paper_settings("MT-GR"), max_depth=3).fit(X, data.y)
    after = peak_megabytes()
    print(f"{kind}: {X.shape}, peak {before:.0f} MB before the fit, {after:.0f} MB after")


if __name__ == "__main__":
    main()
