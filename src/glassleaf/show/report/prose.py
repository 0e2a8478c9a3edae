"""What a report says in words, to a reader who never saw this library."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.comparison import Comparison
from glassleaf.explanations.formulas import is_rescaled, limit_texts, numbers_text
from glassleaf.explanations.model import ModelExplanation
from glassleaf.explanations.refits import Optimism
from glassleaf.show.report.contents import Contents
from glassleaf.show.report.scores import ReportedScore

# What each part is for, in a sentence or two.
_INTRO = {
    "summary": "What the model is, and how well it does on rows it was not fitted on.",
    "scores": "Computed on the test rows. The interval says how far the score may be off"
    " by chance: about 95 of 100 such intervals hold the true value. The"
    " constant guess is what one would reach by always guessing the training average.",
    "calibration": "Test rows in ten groups of about equal size (or weight), by prediction. Points"
    " on the line: what was predicted is what came on average. Bars are 95% intervals.",
    "validation": "How far the scores can be trusted, and what they are worth.",
    "samples": "The same scores on every sample, with their 95% intervals; the other parts of this"
    " report are about the last one.",
    "challenger": "Another model on the same test rows: its score less that of the model of this"
    " report. Both predict the same rows, so that the interval and p (how often chance alone would"
    " make such a difference) are about the difference itself; for the AUC this is DeLong's test.",
    "decisions": "Net benefit: hits less false alarms, per row, at the odds of the probability from"
    " which one acts. Whoever acts from 20% on takes four false alarms for one hit. The model helps"
    " where its line is above those of acting on all rows and on none. The band is a 95%"
    " interval.",
    "optimism": "Models like this one were fitted to resampled training rows. Optimism is by how"
    " much they do better on these than on all rows; the corrected score is what to expect of new"
    " rows.",
    "learning_curve": "Models like this one, fitted to growing numbers of rows: how well they do on"
    " rows held out (blue; bars are the spread over the draws) and on their own (grey). Where the"
    " two have met, more rows bring little.",
    "classes": "What the rows of every class are predicted to be: the most probable class. Recall"
    " is the share of a class that is found; precision is the share of the rows predicted to be of"
    " a class that are.",
    "roc": "Rows may count as the positive class from any probability on. The lower it is, the more"
    " of its rows are found, and the more of the others are taken for it. The area under the curve"
    " is the AUC.",
    "model": "What the model says of all rows, and below every question what differs for the rows"
    " that answer like this. The score of a row is the formula for all rows plus all that differs"
    " on its way.",
    "estimates": "How well the rows know the coefficients. Below 'all rows' stands the formula for"
    " all rows; below a rule, what differs there, and p says how often chance alone differs so"
    " much.",
    "points": "Points and lines are for one standard deviation of a number, or for being of a"
    " category, so that they compare; grey ones may be 0.",
    "steps": "One fit gave models of many lengths, and this is one of them; the slider shows more."
    " The validated loss is that of rows on which a model of this length was not learned (± how far"
    " its distance to the best may be off). The drawn tree and the path of the what-if row in it"
    " follow the slider; all other parts of this report are about the model itself.",
    "tree": "A row starts at the left and answers one question after the other until it reaches a"
    " leaf. The leaf's own formula then gives its score. Choose a leaf (click, or arrow keys"
    " and Enter) to see its rule, its formula and its rows. The path of the row in the what-if part"
    " is blue.",
    "bends": "Some features do not act along a straight line: what one of them adds to the score is"
    " a broken line, which every leaf has for itself. Each picture shows what a feature adds in"
    " every leaf, relative to its average there, over the values that the leaf holds; blue is the"
    " leaf chosen in the tree, dots are where its line bends.",
    "densities": "Grey bars show where the test rows of this report lie; the model keeps no"
    " histogram of its training rows. Where there are hardly any, a line says little.",
    "what_if": "Change a value and see at once where the row goes, what each feature adds, and what"
    " is predicted. An empty field is a missing value. What a feature adds is its part of the"
    " leaf's formula, less that of a row whose inputs are all average. Everything is computed in"
    " this page.",
    "leaves": "One line per leaf: which rows it holds, and what came in training and in test.",
    "features": "Effect: how far a feature moves the scores within the leaves, as a share of all"
    " features. Gain: how much of the splits' improvement is due to splits on it. A feature may do"
    " one, the other, or both; first come those that do most of either.",
    "gains": "At every split, how promising other questions were: a quick estimate for all of them,"
    " by which the best few were chosen. These were then compared by how well two formulas really"
    " do, so that the one that was taken, in blue, need not be the highest here.",
    "resampled": "The tree was grown again on rows drawn with replacement from those of the fit."
    " What few of these trees share may be due to chance in the rows of the fit.",
    "data": "Do the test rows look like the training rows? Where they do not, scores may not hold.",
}
# The same where the rows are those of the fit.
_INTRO_OF_SEEN = {
    "summary": "What the model is, and how well it does on rows it was fitted on.",
    "scores": "Computed on rows that the model was fitted on: on new rows it does less well. The"
    " interval says how far the score may be off by chance, not how much"
    " it is flattered. The constant guess is what one would reach by always guessing the training"
    " average.",
    "leaves": "One line per leaf: which rows it holds, and what came, in training and in the rows"
    " shown here.",
    "data": "The rows shown are rows of the fit: they cannot tell whether new rows look alike.",
}
# What rows are called that the model was fitted on.
_SEEN_NAMES = {
    "test rows": "rows shown",
    "Test rows": "Rows shown",
    "test share": "share shown",
}

# How the numbers of the data notes are defined.
_DEFINITIONS = (
    "Stability is the population stability index: the sum of (test share - training share)"
    " × ln(test share / training share). Below 0.1 is stable, above 0.25 is a large change.",
    "Shift is the difference of the means in standard deviations of training, after the model's"
    " own transform. From 0.25 it is worth a look, from 0.5 it is large.",
    "Outside is the share of values beyond the smallest and largest of training.",
    "Differences that chance can explain at this number of rows are not marked.",
)


def intro(contents: Contents) -> dict[str, str]:
    """What each part is for."""
    texts = _INTRO | {"leaf": _how_to_read(contents.model)}
    if contents.seen:
        texts |= _INTRO_OF_SEEN
    return {name: named(contents, text) for name, text in texts.items()}


def _how_to_read(model: ModelExplanation) -> str:
    """What the formulas of the leaves are made of, as far as this model has it."""
    kinds = {term.kind for term in model.terms}
    is_held = any(np.isfinite(end) for leaf in model.leaves for own in leaf.clamp for end in own)
    pieces = [
        "clip(x, a, b) is x held between a and b: what the leaf saw in training or, where a feature"
        " has far-out values, its outer 1% quantiles. " * is_held,
        "rank(x) is x by its rank among the training rows, on a scale from -3.5 to 3.5. "
        * any(is_rescaled(feature.knots) for feature in model.features),
        "max(0, x - a) is how far x lies above a, 0 below it: there the line of x bends. "
        * bool(model.bent),
        "[x = a] is 1 if x is a, else 0; a category that training never saw is none of them. Beside"
        " it stands the number of the leaf's training rows for which it is 1 (their share, where"
        " rows had weights). " * bool(kinds & {"category", "missing", "special"}),
        "A missing number counts as the average of all rows. " * ("number" in kinds),
        "So does a special value, such as a code for no record. " * ("special" in kinds),
    ]
    return "".join([*pieces, *(f"{text} " for text in limit_texts(model))]) + (
        "Influence is the spread of what a line of the table adds in the leaf: how far it typically"
        " moves the score there. Blue: larger values raise the score; orange: they lower it; grey:"
        " no single direction."
    )


def definitions(contents: Contents) -> list[str]:
    """How the numbers of the data notes are defined."""
    return [named(contents, text) for text in _DEFINITIONS]


def named(contents: Contents, text: str) -> str:
    """A text on test rows; if the model was fitted on them, they are called rows shown."""
    for old, new in _SEEN_NAMES.items() if contents.seen else ():
        text = text.replace(old, new)
    return text


def summary(contents: Contents) -> list[str]:
    """The report in a few sentences."""
    model, found = contents.model, contents.scores
    depth = max(node.depth for node in model.nodes)
    n = len(model.leaves)
    asked = "one question decides" if depth == 1 else f"{depth} questions decide"
    shape = "It is a single formula; no question is asked before."
    if n > 1 and model.share_formula:
        shape = (
            f"It is one formula for all rows, and a decision tree with {n} leaves that says where"
            f" it differs; at most {asked} for a row."
        )
    elif n > 1:
        shape = (
            f"It is a decision tree with {n} leaves; each leaf has a formula of its own, and at"
            f" most {asked} which one applies to a row."
        )
    tested = (
        f". It was not tested: this report shows it on {rows_text(contents.rows)} of the fit, on"
        " which it does better than it will on new ones"
        if contents.seen
        else f" and tested on {rows_text(contents.rows)}"
    )
    return [
        f"The model predicts {_goal(contents)} from {len(model.features)} features."
        f" It was fitted on {rows_text(model.rows)}{tested}.",
        *weight_note(contents),
        f"{shape} There are {numbers_text(model)}.",
        named(contents, _how_well(found)),
        *_negative_counts(contents),
        _what_matters(contents),
        *model.notes,
        *([] if contents.signs is None else [contents.signs.text]),
        *([] if contents.seen else [_drift(contents)]),
    ]


def brier_note(contents: Contents) -> list[str]:
    """The parts of the Brier score, for two classes."""
    parts = contents.validation.brier
    if parts is None:
        return []
    total = parts.reliability - parts.resolution + parts.uncertainty
    numbers = (total, parts.reliability, parts.resolution, parts.uncertainty)
    score, reliability, resolution, uncertainty = (f"{x:.4f}" for x in numbers)
    return [
        f"Brier score {score} = reliability {reliability} - resolution {resolution} + uncertainty"
        f" {uncertainty}: what better calibrated probabilities would save, what the model tells"
        " rows apart by, and what always guessing the share of the class would cost."
    ]


def in_line(values: Sequence[float], largest: float, signed: bool = False) -> list[str]:
    """Numbers with as many decimals as give the largest four digits."""
    size = abs(largest) if np.isfinite(largest) and largest else 1.0
    places = min(max(3 - int(np.floor(np.log10(size))), 0), 8)
    sign = "+" if signed else ""
    return [f"{x:{sign},.{places}f}" if np.isfinite(x) else "not defined" for x in values]


def compared_texts(one: Comparison) -> list[str]:
    """Both scores, their difference, its interval, and p."""
    values = in_line([one.champion, one.challenger], one.champion)
    difference, low, high = in_line([one.difference, one.low, one.high], one.champion, signed=True)
    return [one.score, *values, difference, f"{low} to {high}", p_text(one.p)]


def optimism_texts(own: Optimism) -> list[str]:
    """The score, how much it is flattered, and what is left."""
    values = [own.apparent, own.optimism, own.corrected]
    return [own.score, *in_line(values, max(map(abs, values)))]


def p_text(p: float) -> str:
    """How often chance makes such a difference."""
    if not np.isfinite(p):
        return "not known"
    return "<0.0001" if p < 1e-4 else f"{p:.4f}" if p < 0.01 else f"{p:.2f}"


def origin(contents: Contents) -> str:
    """Where the report and its model come from."""
    model = contents.model
    on = f" on {words.name(contents.date)}" if contents.date else ""
    given = ", ".join(f"{name}={value}" for name, value in contents.settings.items())
    return (
        f"Written by glassleaf {contents.version}{on}. The model is {contents.estimator}({given}),"
        f" fitted on {rows_text(model.rows)} with the loss {model.loss}; all other settings on"
        " which results depend are the defaults."
    )


def rows_text(n: int) -> str:
    return f"{n:,} row{'s' * (n != 1)}"


def weight_note(contents: Contents) -> list[str]:
    """What the weights of the test rows mean for the numbers of the report."""
    weights = contents.weights
    if weights is None:
        return []
    text = (
        f"The test rows are weighted: shares, means and scores count each by its weight. The"
        f" weights sum to {words.number(weights.total, 6)}; they tell as much as"
        f" {rows_text(round(weights.effective_rows))} of equal weight."
    )
    return [named(contents, text)]


def _goal(contents: Contents) -> str:
    classes, target = contents.model.classes, contents.target
    if classes is None:
        return f"“{words.name(target)}”" if target else "a number"
    if len(classes) == 2:
        positive = contents.model.positive_class
        what = f"“{words.name(target)}” is " if target else "a row is of "
        label = f"“{words.name(positive)}”" if target else words.class_name(positive)
        return f"the probability that {what}{label}"
    of = f" of “{words.name(target)}”" if target else ""
    return f"the probabilities of {len(classes)} classes{of}"


def _how_well(scores: Sequence[ReportedScore]) -> str:
    first, second = scores[0], scores[1]
    return (
        f"On the test rows, {first.name} is {score_text(first)} (95% interval"
        f" {interval_text(first)}) and {second.name} {score_text(second)}; always guessing the"
        f" training average would give {value_text(first, first.baseline)} and"
        f" {value_text(second, second.baseline)}."
    )


def _negative_counts(contents: Contents) -> list[str]:
    if not contents.negative:
        return []
    text = (
        "The targets look like counts (whole numbers, none below 0), but"
        f" {words.percent(contents.negative)} of the test rows have a prediction below 0; fitted"
        " with loss='poisson' the model would have none."
    )
    return [named(contents, text)]


def _what_matters(contents: Contents) -> str:
    shares = [(n, s) for n, s in contents.model.importance.items() if s > 0][:3]
    if not shares:
        return "No feature moves the score within a leaf."
    listed = ", ".join(f"{words.name(name)} ({words.percent(share)})" for name, share in shares)
    within = f"Within its leaves, scores move most with {listed}."
    gains = {feature.name: feature.gain_share for feature in contents.model.features}
    asked = sorted((n for n, share in gains.items() if share > 0), key=lambda n: -gains[n])[:3]
    if not asked:
        return within
    listed = ", ".join(f"{words.name(name)} ({words.percent(gains[name])})" for name in asked)
    return f"{within} By the gain of its splits, leaves are told apart by {listed}."


def _drift(contents: Contents) -> str:
    data = contents.data
    marked = sorted((note for note in data.features if note.level), key=lambda note: -note.level)
    changed = [words.name(note.feature) for note in marked]
    changed += [own.name for own in data.scores if own.level]
    changed += ["the rows of the leaves"] if data.leaf_level else []
    if changed:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        listed = ", ".join(changed[:3]) + more
        return f"The test rows differ from the training rows in {listed}; see the data notes."
    if data.not_compared:
        return (
            f"Means, ranges and gaps of the test rows are like those of the training rows; how"
            f" {words.listed(data.not_compared)} is distributed was not compared, for the model"
            " does not know it of its training rows."
        )
    return "The test rows look like the training rows."


def stability(contents: Contents) -> str:
    """The population stability index of the leaves' shares, and of every score."""
    data = contents.data
    said = [f"the leaves' shares {words.number(data.leaf_stability, 3)}"]
    said += [f"{own.name} {words.number(own.psi, 3)}" for own in data.scores]
    return f"Stability (PSI): {', '.join(said)}."


def score_text(score: ReportedScore) -> str:
    return value_text(score, score.value)


def value_text(score: ReportedScore, value: float) -> str:
    """A score with as many digits as its interval supports."""
    if not np.isfinite(value):
        return "not defined"
    unit, sign = (100, "%") if score.is_share else (1, "")
    half = unit * (score.high - score.low) / 2
    places = min(max(1 - int(np.floor(np.log10(half))), 0), 8) if 0 < half < np.inf else 4
    return f"{round(unit * value, places) + 0.0:,.{places}f}{sign}"  # never "-0.00"


def interval_text(score: ReportedScore) -> str:
    if not np.isfinite([score.low, score.high]).all():
        return "not known"
    return f"{value_text(score, score.low)} to {value_text(score, score.high)}"
