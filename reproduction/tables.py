"""Results to tables: beside the paper, with spread, with seconds and leaves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.stats import kendalltau

from reproduction.cells import Result
from reproduction.datasets import Dataset
from reproduction.methods import METHODS, published
from reproduction.preparation import encoded_columns
from reproduction.printed import TABLE_1, printed_score

NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """Rows of text; the columns named in ``words`` are set to the left, numbers to the right."""

    title: str
    header: list[str]
    rows: list[list[str]]
    words: tuple[str, ...] = ("method", "dataset", "what it holds")

    def markdown(self) -> str:
        rule = [":--" if name in self.words else "--:" for name in self.header]
        return "\n".join("| " + " | ".join(row) + " |" for row in (self.header, rule, *self.rows))


@dataclass(frozen=True)
class Summary:
    """A method on a dataset, over its folds."""

    mean: float | None
    spread: float | None
    seconds: float | None
    leaves: float | None
    errors: tuple[str, ...]


Summaries = dict[tuple[str, str], Summary]


def summarize(results: Iterable[Result]) -> Summaries:
    folds: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        folds[result.dataset, result.method].append(result)
    return {place: _summary(found) for place, found in folds.items()}


def _summary(folds: list[Result]) -> Summary:
    errors = tuple(sorted({result.error for result in folds if result.error is not None}))
    scores = [result.score for result in folds if result.score is not None]
    if errors or not scores:
        return Summary(None, None, None, None, errors)
    leaves = [result.leaves for result in folds if result.leaves is not None]
    return Summary(
        float(np.mean(scores)),
        float(np.std(scores, ddof=1)) if len(scores) > 1 else None,
        float(np.mean([result.seconds or 0.0 for result in folds])),
        float(np.mean(leaves)) if leaves else None,
        (),
    )


# --- Table 1 --------------------------------------------------------------------------------------


def table_1(data: Iterable[Dataset]) -> Table:
    rows = []
    for dataset in data:
        printed = TABLE_1[dataset.name]
        share = 100 * dataset.y.mean() if dataset.task == "classification" else None
        pairs: list[tuple[float | None, float | None, str]] = [
            (len(dataset.y), printed.samples, ",.0f"),
            (dataset.X.shape[1], printed.attributes, ".0f"),
            (encoded_columns(dataset.X), printed.columns, ".0f"),
            (share, printed.prevalence, ".2f"),
        ]
        rows.append([dataset.name, *(_pair(*pair) for pair in pairs), dataset.description])
    header = ["dataset", "samples", "attributes", "columns", "prevalence, %", "what it holds"]
    return Table("Table 1: the data; in brackets what the paper prints, if different", header, rows)


def _pair(ours: float | None, printed: float | None, form: str) -> str:
    if ours is None:
        return NOTHING
    text = format(ours, form)
    if printed is None or text == format(printed, form):
        return text
    return f"{text} [{format(printed, form)}]"


# --- Table 2 --------------------------------------------------------------------------------------


def beside_the_paper(summaries: Summaries, names: list[str]) -> Table:
    """Ours, the paper's, and the difference."""
    methods = [name for name, method in METHODS.items() if method.group == "paper"]

    def cell(dataset: str, method: str) -> str:
        printed = printed_score(dataset, method)

        def beside(mean: float, _: Summary) -> str:
            if printed is None:
                return NOTHING
            return f"{mean:.1f} ({printed:.1f}, {_signed(mean - printed)})"

        return _said(summaries.get((dataset, method)), beside)

    title = "Table 2: ours (the paper's, difference); AUC or R2, times 100"
    return _grid(title, methods, names, cell)


def scores(summaries: Summaries, names: list[str]) -> Table:
    def with_spread(mean: float, found: Summary) -> str:
        return f"{mean:.1f}" + ("" if found.spread is None else f" ± {found.spread:.1f}")

    def cell(dataset: str, method: str) -> str:
        return _said(summaries.get((dataset, method)), with_spread)

    title = "All methods: mean ± standard deviation over the folds"
    return _grid(title, _on_the_usual_scale(), names, cell)


def costs(summaries: Summaries, names: list[str]) -> Table:
    def seconds_and_leaves(_: float, found: Summary) -> str:
        leaves = NOTHING if found.leaves is None else f"{found.leaves:,.0f}"
        return f"{found.seconds:.2f} s, {leaves}"

    def cell(dataset: str, method: str) -> str:
        return _said(summaries.get((dataset, method)), seconds_and_leaves)

    title = "Seconds to fit, and leaves (of all trees together; rules for Cubist)"
    return _grid(title, _on_the_usual_scale(), names, cell)


def _on_the_usual_scale() -> list[str]:
    """All methods but those that ``scales`` compares."""
    return [name for name, method in METHODS.items() if method.group != "scale"]


def scales(summaries: Summaries, names: list[str]) -> Table:
    """Unchanged columns and ranks side by side; the paper's number in brackets."""
    names = [name for name in names if TABLE_1[name].prevalence is not None]
    methods = [m.removesuffix(" raw") for m in METHODS if m.endswith(" raw")]

    def one(dataset: str, method: str, suffix: str, preparation: str) -> str:
        own = published(dataset) == preparation
        found = summaries.get((dataset, method if own else f"{method} {suffix}"))
        return _said(found, lambda mean, _: f"{mean:.1f}")

    def cell(dataset: str, method: str) -> str:
        raw = one(dataset, method, "raw", "one-hot")
        ranks = one(dataset, method, "ranks", "quantile")
        if NOTHING in (raw, ranks):
            return NOTHING
        return f"{raw} / {ranks} ({printed_score(dataset, method):.1f})"

    title = "Classification on unchanged columns / on ranks (the paper's)"
    return _grid(title, methods, names, cell)


def agreement(summaries: Summaries, names: list[str]) -> Table:
    """How near we are to the paper: largest differences, and the order of the methods."""
    rows = []
    for dataset in names:
        pairs: dict[str, tuple[float, float]] = {}
        for method in METHODS:
            found, printed = summaries.get((dataset, method)), printed_score(dataset, method)
            if found is not None and found.mean is not None and printed is not None:
                pairs[method] = (found.mean, printed)
        if len(pairs) > 2:
            order = kendalltau(*zip(*pairs.values(), strict=True)).statistic
            rows.append([dataset, *(_largest(pairs, kind) for kind in _KINDS), f"{order:.2f}"])
    header = ["dataset", *(f"largest difference, {kind}" for kind in _KINDS), "order (tau)"]
    return Table("Agreement with the paper; tau is 1 for the same order of methods", header, rows)


_KINDS = ("MT-DT", "MT-GR", "MT-G")


def _largest(pairs: dict[str, tuple[float, float]], kind: str) -> str:
    found = [ours - paper for name, (ours, paper) in pairs.items() if name.split(" ")[0] == kind]
    return _signed(max(found, key=abs)) if found else NOTHING


def _grid(
    title: str, methods: list[str], names: list[str], cell: Callable[[str, str], str]
) -> Table:
    """A row per method, a column per dataset; rows in which nothing stands are left out."""
    rows = [[method, *(cell(name, method) for name in names)] for method in methods]
    kept = [row for row in rows if any(text != NOTHING for text in row[1:])]
    return Table(title, ["method", *names], kept)


def _said(found: Summary | None, text: Callable[[float, Summary], str]) -> str:
    """A cell made of the mean and its summary, or what stands there if it is not known."""
    if found is not None and found.mean is not None:
        return text(found.mean, found)
    return "error" if found is not None and found.errors else NOTHING


def _signed(number: float) -> str:
    """With its sign; no minus before zero.

    >>> _signed(-0.04), _signed(1.25), _signed(-1.3)
    ('0.0', '+1.2', '-1.3')
    """
    text = f"{number:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text
