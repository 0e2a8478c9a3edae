"""The quick run: what it runs, and what must come out."""

from __future__ import annotations

from glassleaf.reproduce.tables import Summaries

ROWS = {"House": 5000}
DATASETS = ("Breast Cancer", "House")
METHODS = (
    "Linear", "DT", "MT-G 1", "MT-GR 1", "MT-GR 3", "MT-DT 1", "glassleaf 2", "glassleaf 8",
)  # fmt: skip

# Versions of the libraries below us may move a score by a rounding; a change of method moves more.
TOLERANCE = 0.3

EXPECTED: dict[str, dict[str, float]] = {}


def deviations(summaries: Summaries) -> list[str]:
    """One sentence for every cell that was run and is not what it should be."""
    found = []
    for dataset, cells in EXPECTED.items():
        for method, expected in cells.items():
            summary = summaries.get((dataset, method))
            if summary is None or summary.mean is None:
                continue  # not asked for, or an error that is reported as such
            if abs(summary.mean - expected) > TOLERANCE:
                found.append(
                    f"{dataset}, {method}: {summary.mean:.2f}, expected {expected:.2f}"
                    f" within {TOLERANCE}"
                )
    return found
