"""A report in Markdown."""

from __future__ import annotations

import numpy as np

from glassleaf.explanations import words
from glassleaf.explanations.formulas import (
    SCALES_INTRO,
    limit_texts,
    link_text,
    ranges_intro,
    scale_texts,
    score_texts,
)
from glassleaf.explanations.refits import LearningCurve
from glassleaf.show.report import prose
from glassleaf.show.report.contents import Contents
from glassleaf.show.report.data_notes import FeatureNote
from glassleaf.show.report.leaves import LeafOnTest
from glassleaf.show.report.validation import Challenger
from glassleaf.show.text.markdown import escaped, estimates_table, shared_formula, table
from glassleaf.show.text.model import target_text, training_range_text

# Points of the decision curve that are listed.
_SHOWN_PERCENTS = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90)


def to_markdown(contents: Contents, max_terms: int | None = 12) -> str:
    """What a report says, part by part, as Markdown."""
    parts = [
        f"# {escaped(contents.title, 200)}",
        "\n".join(f"- {escaped(line, 2000)}" for line in prose.summary(contents)),
        *_model(contents),
        *_estimates(contents),
        _part(contents, "Scores", "scores", _scores(contents)),
        *_classes(contents),
        _part(contents, "Calibration", "calibration", _calibration(contents)),
        *_validation(contents),
        _part(contents, "Leaves", "leaves", _leaves(contents, max_terms)),
        _part(contents, "Features", "features", _features(contents)),
        _part(contents, "Splits and their rivals", "gains", _gains(contents)),
        *_resampled(contents),
        _part(contents, "Data notes", "data", _data(contents)),
        escaped(prose.origin(contents), 5000),
    ]
    return "\n\n".join(parts) + "\n"


def _model(contents: Contents) -> list[str]:
    """The formula for all rows, and what differs; nothing where leaves share none."""
    if not contents.model.share_formula:
        return []
    link = escaped(link_text(contents.model.link, contents.model.positive_class), 500)
    body = f"{shared_formula(contents.model)}\n\n{link}."
    scales = _scales(contents, None)
    return [_part(contents, "Model", "model", "\n\n".join([body, *scales]))]


def _estimates(contents: Contents) -> list[str]:
    """Coefficients with intervals, if they were given."""
    if contents.estimates is None:
        return []
    body = estimates_table(contents.estimates)
    return [_part(contents, "Coefficients", "estimates", body)]


def _part(contents: Contents, title: str, intro: str, body: str) -> str:
    return f"## {title}\n\n{prose.intro(contents)[intro]}\n\n{body}"


def _scores(contents: Contents) -> str:
    header = ["score", "value", "95% interval", "constant guess", "meaning"]
    rows = [
        [
            score.name,
            prose.score_text(score),
            prose.interval_text(score),
            prose.value_text(score, score.baseline),
            f"{score.meaning} Interval: {score.interval}.",
        ]
        for score in contents.scores
    ]
    return "\n\n".join([*prose.weight_note(contents), table(header, rows)])


def _classes(contents: Contents) -> list[str]:
    """Parts on the classes: confusion and rates; for two of them some points of the ROC curve."""
    found, labels = contents.classes, contents.model.classes
    if found is None or labels is None:
        return []
    names = [escaped(words.class_name(label)) for label in labels]
    matrix = table(
        ["true class", *(f"predicted {name}" for name in names)],
        [
            [name, *(words.number(count) for count in row)]
            for name, row in zip(names, found.confusion, strict=True)
        ],
    )
    several = len(names) > 2
    header = ["class", "share", "predicted share", "recall", "precision"]
    rates = table(
        header + ["AUC", "95% interval"] * several,
        [
            [
                name,
                *map(_rate, (one.share, one.predicted, one.recall, one.precision)),
                *[prose.score_text(one.auc), prose.interval_text(one.auc)] * several,
            ]
            for name, one in zip(names, found.classes, strict=True)
        ],
    )
    parts = [_part(contents, "Classes", "classes", f"{matrix}\n\n{rates}")]
    if found.roc:
        some = [found.roc[k] for k in np.unique(np.linspace(1, len(found.roc) - 1, 11).astype(int))]
        name = names[contents.model.positive]
        columns = [f"probability of {name} from", "found", "others taken for it"]
        rows = [[words.number(t, 3), _rate(hit), _rate(false)] for t, false, hit in some]
        parts.append(_part(contents, "ROC curve", "roc", table(columns, rows)))
    return parts


def _rate(share: float) -> str:
    return "not defined" if np.isnan(share) else words.percent(share)


def _calibration(contents: Contents) -> str:
    rows = [
        [escaped(name), *(words.number(x, 4) for x in (b.prediction, b.target, b.low, b.high)),
         str(b.rows)]
        for name, bins in contents.calibration.items()
        for b in bins
    ]  # fmt: skip
    bins = table(["of", "mean prediction", "mean target", "from", "to", "rows"], rows)
    return "\n\n".join([bins, *prose.brier_note(contents)])


def _validation(contents: Contents) -> list[str]:
    """Parts on samples, challenger, net benefit and refits, as far as there are such."""
    found, parts = contents.validation, []
    if found.samples:
        parts.append(_part(contents, "Samples", "samples", _samples(contents)))
    if found.challenger is not None:
        name = f"Challenger: {escaped(found.challenger.name)}"
        parts.append(_part(contents, name, "challenger", _comparison(found.challenger)))
    if found.decisions:
        parts.append(_part(contents, "Decision curve", "decisions", _decisions(contents)))
    if found.optimism:
        rows = [prose.optimism_texts(own) for own in found.optimism]
        header = ["score", "on the training rows", "optimism", "corrected"]
        parts.append(_part(contents, "Optimism", "optimism", table(header, rows)))
    if found.learning_curve is not None:
        body = _learning_curve(found.learning_curve)
        parts.append(_part(contents, "Learning curve", "learning_curve", body))
    return parts


def _samples(contents: Contents) -> str:
    samples = contents.validation.samples
    header = [
        f"{escaped(sample.name)} ({prose.rows_text(sample.rows)}{', fitted on' * sample.seen})"
        for sample in samples
    ]
    rows = [
        [score.name, *(f"{prose.score_text(s)} ({prose.interval_text(s)})" for s in same)]
        for score, *same in zip(
            contents.scores, *(sample.scores for sample in samples), strict=True
        )
    ]
    return table(["score", *header], rows)


def _comparison(challenger: Challenger) -> str:
    header = ["score", "model", "challenger", "difference", "95% interval", "p", "test"]
    rows = [[*prose.compared_texts(one), one.test] for one in challenger.comparison]
    return table(header, rows)


def _decisions(contents: Contents) -> str:
    """Some points of the curve."""
    rows = [
        [words.percent(point.threshold), *(words.number(x, 3) for x in (point.model, point.low,
         point.high, point.everyone)), words.percent(point.taken)]
        for point in contents.validation.decisions
        if round(100 * point.threshold) in _SHOWN_PERCENTS
    ]  # fmt: skip
    return table(["acts from", "net benefit", "from", "to", "acting on all", "acted on"], rows)


def _learning_curve(curve: LearningCurve) -> str:
    rows = [
        [f"{p.rows:,}", *(words.number(x, 3) for x in (p.test, p.spread, p.training, p.leaves,
         p.numbers))]
        for p in curve.points
    ]  # fmt: skip
    header = [f"{curve.score}, held out", "spread", f"{curve.score}, own rows", "leaves", "numbers"]
    return table(["rows", *header], rows)


def _leaves(contents: Contents, max_terms: int | None) -> str:
    rows = []
    for leaf, test in zip(contents.model.leaves, contents.leaves.leaves, strict=True):
        rows.append(
            [
                str(leaf.leaf),
                escaped(leaf.rule_text, 500),
                words.rows_and_share(leaf.rows, contents.model.rows, leaf.share, unit=""),
                escaped(target_text(contents.model, leaf.target), 300),
                words.rows_and_share(test.rows, contents.rows, test.share, unit=""),
                escaped(_test_target(contents, test), 300),
            ]
        )
    shown = ("rows shown", "their target") if contents.seen else ("test rows", "test target")
    found = table(["leaf", "rule", "training rows", "training target", *shown], rows)
    if contents.model.share_formula:
        return found
    return f"{found}\n\n{_formulas(contents, max_terms)}"


def _test_target(contents: Contents, test: LeafOnTest) -> str:
    if not test.rows:
        return "no rows"
    classes = contents.model.classes
    if classes is None:
        return f"{words.number(test.target[0], 4)}, predicted {words.number(test.prediction[0], 4)}"
    shown = range(len(classes)) if len(classes) > 2 else [contents.model.positive]
    return ", ".join(
        f"{words.percent(test.target[k])} {words.class_name(classes[k])}"
        f" (predicted {words.percent(test.prediction[k])})"
        for k in shown
    )


def _formulas(contents: Contents, max_terms: int | None) -> str:
    model = contents.model
    lines = []
    for leaf in model.leaves:
        texts = [escaped(text, 4000) for text in score_texts(model, leaf, max_terms)]
        lines.append(f"- Leaf {leaf.leaf}: " + "; ".join(texts))
    link = escaped(link_text(model.link, model.positive_class), 500)
    limits = [escaped(text, 500) for text in limit_texts(model)]
    intro = " ".join([f"{link}.", *limits, ranges_intro(model)])
    return "\n\n".join([intro.strip(), "\n".join(lines), *_scales(contents, max_terms)])


def _scales(contents: Contents, max_terms: int | None) -> list[str]:
    """The points of every rank(x) in the formulas, if there are any."""
    texts = scale_texts(contents.model, max_terms).values()
    scales = "\n".join(f"- {escaped(text, 4000)}" for text in texts)
    return [f"{escaped(SCALES_INTRO, 500)}:", scales] if scales else []


def _features(contents: Contents) -> str:
    by_name = {feature.name: feature for feature in contents.model.features}
    rows = []
    for name in contents.model.importance:
        feature = by_name[name]
        shares = (words.percent(feature.effect_share), words.percent(feature.gain_share))
        rows.append([escaped(name), *shares, str(feature.n_splits), training_range_text(feature)])
    return table(["feature", "effect", "gain", "splits", "in training"], rows)


def _gains(contents: Contents) -> str:
    rows = [
        [
            escaped(node.rule_text, 300),
            escaped(candidate.text, 300),
            words.number(candidate.gain, 4),
            "chosen" if candidate.is_chosen else "",
        ]
        for node in contents.model.splits
        if node.split
        for candidate in node.split.candidates
    ]
    return table(["rows", "question", "estimated gain", ""], rows) if rows else "There is no split."


def _resampled(contents: Contents) -> list[str]:
    """What trees on resampled rows have in common; nothing where none were grown."""
    found = contents.resampled
    if found is None:
        return []
    said = "\n".join(f"- {escaped(line, 1000)}" for line in found.sentences())
    rows = [
        [
            escaped(own.name),
            *map(words.percent, (own.root, own.splits, own.formulas)),
            " and ".join(["splits"] * own.in_splits + ["formulas"] * own.in_formulas),
        ]
        for own in found.columns
        if max(own.splits, own.formulas) > 0
    ]
    header = ["column", "first split", "splits", "formulas", "in the model"]
    return [_part(contents, "Stability", "resampled", f"{said}\n\n{table(header, rows)}")]


def _data(contents: Contents) -> str:
    rows = [_note(note) for note in contents.data.features]
    missing = "missing here" if contents.seen else "missing in test"
    header = ["feature", "missing in training", missing, "outside", "shift", "stability",
              "new categories", "remark"]  # fmt: skip
    return f"{prose.stability(contents)}\n\n{table(header, rows)}\n\n" + "\n".join(
        f"- {escaped(line, 500)}" for line in prose.definitions(contents)
    )


def _note(note: FeatureNote) -> list[str]:
    return [
        escaped(note.feature),
        words.percent(note.missing_training) if note.missing_training is not None else "not kept",
        words.percent(note.missing_test),
        words.percent(note.outside),
        "" if note.shift is None else f"{note.shift:+.2f}",
        "" if note.stability is None else words.number(note.stability, 3),
        escaped(words.listed(note.new_categories), 300) if note.new_categories else "",
        "; ".join([*note.remarks, *map(_special_text, note.special)]),
    ]


def _special_text(found: tuple[str, float | None, float]) -> str:
    """A special value and how often it was, and is."""
    word, before, now = found
    said = "not kept" if before is None else words.percent(before)
    return f"{escaped(word)}: {said} in training, {words.percent(now)} here"
