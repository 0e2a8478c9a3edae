"""Fitted models to documents, the content of model files, and back; see ``model_file``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassleaf import criteria, losses
from glassleaf.errors import ExportError, ModelFileError, describe
from glassleaf.losses import Loss
from glassleaf.tables.dates import DatePart
from glassleaf.tables.design import Terms
from glassleaf.tables.table import Column
from glassleaf.tree import plain
from glassleaf.tree.calibration import Intervals, Scaling
from glassleaf.tree.file.model_file import FORMAT, VERSION, Document, arrays
from glassleaf.tree.fitted import FittedModel
from glassleaf.tree.histograms import Histograms
from glassleaf.tree.offset import Offset
from glassleaf.tree.path import Path, Step
from glassleaf.tree.plain import PlainModel
from glassleaf.tree.tree import Candidates, TrainingRecord, Tree

_CRITERIA: dict[str, Any] = {
    kind.__name__: kind
    for kind in (criteria.GradientGain, criteria.InformationGain, criteria.VarianceReduction)
}
# What a step of a path holds: single values, and arrays with one place per entry.
_OF_STEPS = ("numbers", "loss", "validated", "error")
_OF_ENTRIES = ("node", "output", "term", "value")
_CLASS_LOSSES = (losses.BinaryLogLoss, losses.MulticlassLogLoss)


# --- to documents --------------------------------------------------------------------------------


def to_document(model: FittedModel, written_by: str) -> Document:
    """Everything that a model file holds."""
    predicts = model_document(model)
    parameters = {name: _parameter(value, name) for name, value in model.parameters.items()}
    return {
        "format": FORMAT,
        "version": VERSION,
        "written_by": written_by,
        "estimator": {"class": model.estimator, "parameters": parameters},
        **predicts,
        **({} if model.path is None else {"path": _path(model.path)}),
    }


def _path(path: Path) -> Document:
    steps = path.steps
    limits = np.array([step.limits or (-np.inf, np.inf) for step in steps])
    by_step = {name: [getattr(step, name) for step in steps] for name in _OF_STEPS}
    entries = {name: _joined(steps, name) for name in _OF_ENTRIES}
    sizes = [len(step.node) for step in steps]
    return {
        "tree": _lists(path.whole, "tree"),
        **_record(path.whole),
        "steps": {
            **by_step,
            "limit_low": limits[:, 0].tolist(),
            "limit_high": limits[:, 1].tolist(),
            "first_entry": [0, *np.cumsum(sizes).tolist()],
            **entries,
        },
    }


def _joined(steps: Sequence[Step], name: str) -> list[Any]:
    return [entry for step in steps for entry in getattr(step, name).tolist()]


def model_document(model: FittedModel) -> Document:
    """The part that predicts, which the parameters of the fit are not."""
    tree = model.tree
    if tree.custom is not None:
        raise ExportError(
            "This tree has models of your own in its nodes (weak_model=...). Only linear models"
            " can be saved and exported; pickle the estimator, at your own risk."
        )
    return {
        "loss": _loss(model.loss),
        "classes": None if model.class_array is None else _labels(model.class_array, "classes_"),
        "named": model.is_named,
        "columns": [_column(column) for column in tree.columns],
        **({"offsets": [asdict(offset) for offset in tree.offsets]} if tree.offsets else {}),
        "terms": {**_lists(tree.terms, "terms"), "n_terms": int(tree.terms.n_terms)},
        "tree": _lists(tree, "tree"),
        **_record(tree),
        **_calibration(model),
        **_histograms(model),
    }


def _calibration(model: FittedModel) -> Document:
    """What calibration rows taught, where there were some."""
    out = {}
    if model.intervals is not None:
        power = float(model.intervals.power)
        out["intervals"] = {**_lists(model.intervals, "intervals"), "power": power}
    if model.scaling is not None:
        out["scaling"] = _lists(model.scaling, "scaling")
    return out


def _histograms(model: FittedModel) -> Document:
    """What is kept of the distributions of columns and scores."""
    found = model.histograms
    return {} if found is None else {"histograms": _lists(found, "histograms")}


def _record(tree: Tree) -> Document:
    """The training record, where the tree has one."""
    if tree.training_record is None:
        return {}
    return {
        "seen": _lists(tree.training_record, "seen"),
        "candidates": _lists(tree.training_record.candidates, "candidates"),
    }


def _lists(source: Any, part: str) -> Document:
    """The arrays that a dataclass has, as nested lists with the axes that the schema names."""
    out = {}
    for name, annotation in arrays(part).items():
        found = getattr(source, name)
        if found is None:
            continue
        array = np.asarray(found)
        axes = annotation["axes"]
        if array.ndim == len(axes) - 1 and "output" in axes:
            array = np.expand_dims(array, axes.index("output"))
        out[name] = array.tolist()
    return out


def _column(column: Column) -> Document:
    categories = column.categories
    if categories is not None:
        what = f"a category of column {column.name!r}"
        categories = tuple(_label(category, what) for category in categories)
    own = {"name": column.name, "categories": None if categories is None else list(categories)}
    special = [{"value": float(value), "word": word} for value, word in column.special]
    own |= {"special": special} if special else {}
    return own if column.date is None else {**own, "date": asdict(column.date)}


def _label(value: Any, what: str) -> str | int | float | bool:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, int)) or (isinstance(value, float) and np.isfinite(value)):
        return value
    raise ExportError(
        f"{what} is {describe(value)}, of the type {type(value).__name__}. Only text, finite"
        " numbers and truth values can be saved and exported: convert the column, for example"
        " with .astype(str), and fit again."
    )


def _labels(values: NDArray[Any], what: str) -> Document:
    dtype = "str" if values.dtype.kind in "UT" else values.dtype.name
    if values.dtype.kind not in "biufUTO" or dtype == "longdouble" or values.ndim != 1:
        raise ExportError(f"{what} has the type {values.dtype}, which cannot be saved.")
    return {"dtype": dtype, "values": [_label(value, what) for value in values]}


def _loss(loss: Loss) -> Document:
    if type(loss) in _CLASS_LOSSES:
        positive = {} if loss.positive else {"positive": loss.positive}
        return {"name": "log_loss", "n_outputs": loss.n_outputs, **positive}
    for name, kind in losses.REGRESSION_LOSSES.items():
        if type(loss) is kind:
            given = {f.name: float(getattr(loss, f.name)) for f in fields(kind)}  # type: ignore[arg-type]
            return {"name": name, **given}
    raise ExportError(
        f"loss={describe(loss)} is an object of your own. Only models with the losses of"
        " glassleaf can be saved and exported."
    )


def _parameter(value: Any, name: str) -> Any:
    if isinstance(value, np.ndarray):
        return {"array": _labels(value, name)}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Loss):
        return {"loss": _loss(value)}
    if type(value) in _CRITERIA.values():
        own = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"criterion": {"name": type(value).__name__, **own}}
    if isinstance(value, dict):
        return {
            "map": [[_parameter(key, name), _parameter(v, name)] for key, v in value.items()],
        }
    if isinstance(value, (set, frozenset)):
        return [_parameter(entry, name) for entry in sorted(value, key=str)]
    if isinstance(value, tuple):
        return {"tuple": [_parameter(entry, name) for entry in value]}
    if isinstance(value, list):
        return [_parameter(entry, name) for entry in value]
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise ExportError(
        f"{name}={describe(value)} cannot be saved. Only numbers, text, lists and the like can;"
        f" if {name} no longer matters, call set_params({name}=None) first."
    )


def plain_model(model: FittedModel) -> PlainModel:
    """A fitted model as plain Python objects, for scorers and exports."""
    codes = _parameter(model.parameters.get("reason_codes"), "reason_codes")
    document = model_document(model)
    document |= {"estimator": {"parameters": {"reason_codes": codes}}}
    return replace(plain.from_document(document), differences=plain.differences(document))


# --- from documents ------------------------------------------------------------------------------


def from_document(document: Document) -> FittedModel:
    """A checked document as a fitted model."""
    labels = document["classes"]
    classes = None if labels is None else _label_array(labels)
    single = classes is None or len(classes) == 2
    columns = tuple(map(_built_column, document["columns"]))
    n_terms = document["terms"]["n_terms"]
    terms = Terms(**_arrays(document, "terms", {}, single), n_terms=n_terms)
    offsets = tuple(Offset(**given) for given in document.get("offsets", ()))
    tree = replace(_built_tree(document, columns, terms, single), offsets=offsets)
    return FittedModel(
        estimator=document["estimator"]["class"],
        parameters={
            name: _given(value) for name, value in document["estimator"]["parameters"].items()
        },
        tree=tree,
        path=_built_path(document["path"], tree, single) if "path" in document else None,
        loss=_built_loss(document["loss"], 0 if classes is None else len(classes)),
        class_array=classes,
        is_named=document["named"],
        intervals=_built_intervals(document) if "intervals" in document else None,
        scaling=(
            Scaling(**_arrays(document, "scaling", {}, single)) if "scaling" in document else None
        ),
        histograms=(
            Histograms(**_arrays(document, "histograms", {}, single))
            if "histograms" in document
            else None
        ),
    )


def _built_column(given: Document) -> Column:
    categories, part = given["categories"], given.get("date")
    return Column(
        given["name"],
        None if categories is None else tuple(categories),
        None if part is None else DatePart(**part),
        tuple((float(own["value"]), own["word"]) for own in given.get("special", ())),
    )


def _built_intervals(document: Document) -> Intervals:
    found = _arrays(document, "intervals", {}, single=True)
    return Intervals(**found, power=float(document["intervals"]["power"]))


def _built_tree(
    document: Document, columns: tuple[Column, ...], terms: Terms, single: bool
) -> Tree:
    """The tree of a document, or of its path."""
    sizes, record = {"column": len(columns), "term": terms.n_terms}, None
    if "seen" in document:
        candidates = Candidates(**_arrays(document, "candidates", sizes, single))
        record = TrainingRecord(**_arrays(document, "seen", sizes, single), candidates=candidates)
    found = _arrays(document, "tree", sizes, single)
    return Tree(columns=columns, terms=terms, **found, training_record=record)


def _built_path(path: Document, tree: Tree, single: bool) -> Path:
    found = _arrays(path, "steps", {}, single)
    first, limits = found["first_entry"], zip(found["limit_low"], found["limit_high"], strict=True)
    steps = []
    for k, (low, high) in enumerate(limits):
        own = slice(first[k], first[k + 1])
        steps.append(
            Step(
                **{name: found[name][k].item() for name in _OF_STEPS},
                **{name: found[name][own] for name in _OF_ENTRIES},
                limits=None if np.isinf([low, high]).all() else (float(low), float(high)),
            )
        )
    whole = _built_tree(path, tree.columns, tree.terms, single)
    return Path(replace(whole, offsets=tree.offsets), tuple(steps))


def _arrays(
    document: Document, part: str, sizes: Mapping[str, int], single: bool
) -> dict[str, Any]:
    """The arrays of a part; ``sizes`` are those of axes that numpy may not see."""
    out = {}
    for name, annotation in arrays(part).items():
        if name not in document[part]:
            continue
        axes = annotation["axes"]
        array = np.array(document[part][name], dtype=annotation["dtype"])
        if array.ndim < len(axes):  # no term at all: numpy cannot see the last axis
            array = array.reshape(
                *array.shape, *(sizes.get(axis, 0) for axis in axes[array.ndim :])
            )
        if single and "output" in axes:
            array = array.squeeze(axes.index("output"))
        out[name] = array
    return out


def _label_array(labels: Document) -> NDArray[Any]:
    values, dtype = labels["values"], labels["dtype"]
    if dtype == "object":
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out
    return np.array(values, dtype=str if dtype == "str" else dtype)


def _built_loss(given: Document, n_classes: int) -> Loss:
    own = {name: value for name, value in given.items() if name not in ("name", "n_outputs")}
    try:
        if given["name"] != "log_loss":
            return losses.REGRESSION_LOSSES[given["name"]](**own)
        n_outputs = given.get("n_outputs", 1)
        if n_classes and n_outputs != (1 if n_classes == 2 else n_classes):
            raise TypeError
        if n_outputs == 1:
            return losses.BinaryLogLoss(**own)
        return losses.MulticlassLogLoss(n_outputs, **own)
    except (TypeError, ValueError):
        raise ModelFileError(
            f"This is no intact model file: {given['name']} has other parameters."
        ) from None


def _built_criterion(given: Document) -> Any:
    own = {name: value for name, value in given.items() if name != "name"}
    try:
        return _CRITERIA[given["name"]](**own)
    except TypeError:
        raise ModelFileError(
            f"This is no intact model file: {given['name']} has other parameters."
        ) from None


def _given(value: Any) -> Any:
    if isinstance(value, list):
        return [_given(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    ((tag, inner),) = value.items()
    return _UNTAG[tag](inner)


def _mapping(pairs: list[Any]) -> dict[Any, Any]:
    try:
        return {_given(key): _given(value) for key, value in pairs}
    except TypeError:
        raise ModelFileError("This is no intact model file: a key is a list or a map.") from None


def _checked_labels(labels: Document) -> NDArray[Any]:
    try:
        return _label_array(labels)
    except (TypeError, ValueError, OverflowError):
        raise ModelFileError("This is no intact model file: labels of mixed types.") from None


_UNTAG: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "tuple": lambda entries: tuple(map(_given, entries)),
    "map": _mapping,
    "array": _checked_labels,
    "loss": lambda loss: _built_loss(loss, 0),
    "criterion": _built_criterion,
}
