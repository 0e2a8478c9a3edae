"""What each part beyond the paper is worth: one part off (or on) at a time, 4 folds.

    GLASSLEAF_DATA=folder python -m benchmarks.ablation [--leaves 8] [--folds 4] [--datasets House]
        [--write docs/beyond-the-paper.md]

Prints a Markdown table of R2 or AUC (times 100), the default in the first row and the difference to
it in the others; ``--write`` puts it between the page's markers.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, paper_settings
from reproduction import datasets

CHANGES: dict[str, dict[str, Any]] = {
    "default": {},
    "rescore=0": {"rescore": 0},
    "rescore=0, refine=True": {"rescore": 0, "refine": True},
    "refine=True": {"refine": True},
    'shrink="zero"': {"shrink": "zero"},
    "alpha=1": {"alpha": 1.0},
    "alpha=10": {"alpha": 10.0},
    "clamp=False": {"clamp": False},
    "clamp=(0.01, 0.99)": {"clamp": (0.01, 0.99)},
    "significance=None": {"significance": None},
    'category_splits="one"': {"category_splits": "one"},
    "curves=False": {"curves": False},
    'leaf_transform="none"': {"leaf_transform": "none", "curves": True},
    'leaf_transform="winsor"': {"leaf_transform": "winsor", "curves": True},
    'leaf_transform="rank"': {"leaf_transform": "rank", "curves": True},
    "round_thresholds=True": {"round_thresholds": True},
    "all off (MT-GR)": paper_settings("MT-GR"),
}


def score(data: datasets.Dataset, settings: dict[str, Any], folds: int) -> float:
    is_class = data.loss == "log_loss"
    split = (StratifiedKFold if is_class else KFold)(folds, shuffle=True, random_state=0)
    found = []
    for train, test in split.split(data.X, data.y):
        kind = ModelTreeClassifier if is_class else ModelTreeRegressor
        tree = kind(**settings).fit(data.X.iloc[train], data.y[train])
        if is_class:
            raw = tree.decision_function(data.X.iloc[test])
            found.append(roc_auc_score(data.y[test], raw))
        else:
            found.append(r2_score(data.y[test], tree.predict(data.X.iloc[test])))
    return 100 * float(np.mean(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=8)
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--datasets", default="", help="names, separated by commas (default: all)")
    parser.add_argument("--write", type=Path, help="a page with the markers of this table")
    given = parser.parse_args()
    chosen = {name.strip().lower() for name in given.datasets.split(",") if name.strip()}
    names = [name for name in datasets.PAPER if not chosen or name.lower() in chosen]
    budget = {"max_leaf_nodes": given.leaves, "max_depth": None}
    table: dict[str, list[float]] = {change: [] for change in CHANGES}
    for name in names:
        data = datasets.ALL[name](None)
        for change, settings in CHANGES.items():
            table[change].append(score(data, {**settings, **budget}, given.folds))
            print(f"{name:<14}{change:<26}{table[change][-1]:7.2f}", flush=True)
    lines = [
        f"At most {given.leaves} leaves, {given.folds} folds, R2 or AUC times 100; below the first"
        " row, the difference to it.",
        "",
        f"| | {' | '.join(names)} |",
        f"|---|{'---|' * len(names)}",
    ]
    for change, scores in table.items():
        usual = table["default"]
        shown = (
            [f"{own:.1f}" for own in scores]
            if change == "default"
            else [f"{own - default:+.1f}" for own, default in zip(scores, usual, strict=True)]
        )
        lines.append(f"| {change} | {' | '.join(shown)} |")
    text = "\n".join(lines)
    print(text)
    if given.write is not None:
        page = given.write.read_text()
        before, rest = page.split("<!-- ablation: begin -->")
        _, after = rest.split("<!-- ablation: end -->")
        given.write.write_text(
            f"{before}<!-- ablation: begin -->\n{text}\n<!-- ablation: end -->{after}"
        )


if __name__ == "__main__":
    main()
