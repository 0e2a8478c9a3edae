"""Model files: text to a checked document and back. No numpy, no pickle, nothing is executed.

A document is what ``schemas/model-v4.schema.json`` describes, as Python's own dicts and lists;
floats that JSON cannot write are the words "inf", "-inf" and "nan" in the file, and floats here.
``parse`` returns only sound documents: the schema allows them, and their arrays fit together and
are a tree. For anything else it raises ``ModelFileError``. A file of an older version
is checked against its own schema, and becomes a document of this version (``older``).
"""

from __future__ import annotations

import json
import math
import os
from itertools import chain
from typing import Any

from glassleaf.errors import ModelFileError
from glassleaf.tree.file.json_schema import SchemaError, check, model_schema
from glassleaf.tree.file.older import upgraded

Document = dict[str, Any]

FORMAT = "glassleaf model"
VERSION = 4

_LEAF = -1
_LOG_LINKS = ("poisson", "gamma", "tweedie", "negative_binomial")
_PARTS = ("terms", "tree", "seen", "candidates", "steps", "intervals", "scaling", "histograms")


# --- reading -------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> Document:
    """The checked document of a model file."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        return parse(content)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def parse(text: bytes | str) -> Document:
    """A checked document from the text of a model file."""
    try:
        document = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_without_repeats,
        )
        version = _checked_version(document)
        root = model_schema(version)
        check(document, root, root)
        document = _decoded(upgraded(document))
        check_structure(document)
    except SchemaError as error:
        raise ModelFileError(f"This is no intact model file: {error}.") from None
    except ModelFileError:
        raise
    except RecursionError:
        raise ModelFileError("This is no intact model file: it is nested too deeply.") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelFileError(
            f"This is no intact model file: it is not JSON ({error!s:.200})."
            " It was cut off, changed by hand, or is another file."
        ) from None
    except (ValueError, OverflowError) as error:  # numbers that Python cannot hold
        raise ModelFileError(f"This is no intact model file: {error!s:.200}") from None
    return document


def _checked_version(document: Any) -> int:
    """The version whose schema applies; the latest where no version is given."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError("This is JSON, but not a glassleaf model.")
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        return VERSION
    if version > VERSION:
        raise ModelFileError(
            f"This model file has version {version!r:.20}, and this glassleaf reads versions up to"
            f" {VERSION}. Install a newer glassleaf, or save the model anew with this one."
        )
    return version


def _refuse_constant(name: str) -> float:
    raise ModelFileError(f"This is no intact model file: {name} is not JSON.")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ModelFileError(f"This is no intact model file: the number {text:.40} is too large.")
    return number


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ModelFileError("This is no intact model file: a name occurs twice in one object.")
    return found


def _decoded(document: Document) -> Document:
    """The same document with arrays of floats that hold floats only."""
    out = dict(document)
    for part in array_parts(document):
        out[part] = dict(document[part])
        for name, annotation in arrays(part).items():
            if annotation["dtype"] == "float64" and name in out[part]:
                out[part][name] = _floats(out[part][name])
    if "path" in document:
        out["path"] = _decoded(document["path"])
    return out


def _floats(values: Any) -> Any:
    if isinstance(values, list):
        if set(map(type, values)) <= {float}:
            return values
        return [_floats(value) for value in values]
    return float(values)


def array_parts(document: Document) -> list[str]:
    """The parts of a document, or of its path, that hold arrays."""
    return [part for part in _PARTS if part in document]


def arrays(part: str) -> dict[str, Any]:
    """The arrays of such a part, with the axes and types that the schema gives them."""
    parts = model_schema(VERSION)["properties"]
    described = (parts["path"]["properties"] if part == "steps" else parts)[part]
    return {name: entry for name, entry in described["properties"].items() if "axes" in entry}


# --- do the arrays fit together? -----------------------------------------------------------------


def check_structure(document: Document) -> None:
    """Raise ``ModelFileError`` unless every position of the arrays leads somewhere."""
    columns, terms = document["columns"], document["terms"]
    sizes = {
        "column": len(columns),
        "column and end": len(columns) + 1,
        "term": terms["n_terms"],
        "pair of terms": _n_pairs(terms["first_hinge"]),
        "output": _check_outputs(document),
        "class": 1 if document["classes"] is None else len(document["classes"]["values"]),
    }
    _check_shapes(document, sizes)
    _check_columns(columns)
    _check_terms(columns, terms)
    _check_offsets(columns, document)
    _check_tree(columns, document)
    if "intervals" in document:
        _check_intervals(document)
    if "scaling" in document:
        _check_scaling(document)
    if "histograms" in document:
        _check_histograms(columns, document["histograms"], sizes["output"])
    if "path" in document:
        _check_shapes(document["path"], sizes)
        _check_tree(columns, document["path"])
        _check_steps(document["path"], sizes)


def _check_tree(columns: list[Document], document: Document) -> None:
    """The tree of a document, or of its path, with its training record."""
    tree = document["tree"]
    _check_nodes(columns, tree)
    _check_models(tree)
    _require(
        ("seen" in document) == ("candidates" in document), "the training record is not complete"
    )
    if "candidates" in document:
        _check_candidates(columns, tree, document["candidates"])
        _check_tests(columns, document["seen"])
        twins = document["seen"].get("twin", [])
        _require(all(twin < len(columns) for twin in twins), "a twin is out of range")


def _check_tests(columns: list[Document], seen: Document) -> None:
    _require(("p_value" in seen) == ("refused" in seen), "the tests of splits are not complete")
    fits = all(column < len(columns) for column in seen.get("refused", ()))
    _require(fits, "a refused split is on a column that does not exist")


def _check_intervals(document: Document) -> None:
    _require(document["classes"] is None, "classes have no intervals")
    levels, width = document["intervals"]["level"], document["intervals"]["width"]
    inside = _ascend(levels) and len(levels) > 0 and levels[0] > 0 and levels[-1] < 1
    _require(inside, "levels of intervals are not ascending between 0 and 1")
    fits = all(own >= 0 for of_node in width for own in of_node)
    _require(fits, "a width of an interval is negative or no number")


def _check_scaling(document: Document) -> None:
    _require(document["classes"] is not None, "numbers have no odds to scale")
    numbers = [*document["scaling"]["slope"], *chain(*document["scaling"]["shift"])]
    _require(all(map(math.isfinite, numbers)), "a scale of scores is not finite")


def _check_histograms(columns: list[Document], found: Document, n_scores: int) -> None:
    first_edge, first_share = found["first_edge"], found["first_share"]
    fits = len(first_edge) - 1 in (len(columns), len(columns) + n_scores)
    _require(fits, "there is not one histogram per column and score")
    for first, name in ((first_edge, "edge"), (first_share, "share")):
        fits = _are_parts(first, len(found[name]))
        _require(fits, f"the {name}s of histograms begin or end wrongly")
    share = found["share"]
    _require(all(0 <= own <= 1 for own in share), "a share of a histogram is none")
    for k in range(len(first_edge) - 1):
        edges = found["edge"][first_edge[k] : first_edge[k + 1]]
        n_shares = first_share[k + 1] - first_share[k]
        n_special = len(columns[k].get("special", ())) if k < len(columns) else 0
        fits = n_shares == len(edges) + 2 + n_special or not (n_shares or edges)
        _require(fits and _ascend(edges), f"histogram {k} is not one")
        categories = columns[k]["categories"] if k < len(columns) else None
        if categories is not None:
            _require(
                all(own in range(len(categories)) for own in edges),
                f"a category of histogram {k} is out of range",
            )


def _n_pairs(first_hinge: list[int]) -> int:
    """How many pairs there are of a column's line and hinges, in all columns."""
    n_hinges = (stop - start for start, stop in zip(first_hinge, first_hinge[1:], strict=False))
    return sum(n * (n + 1) // 2 for n in n_hinges)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ModelFileError(f"This is no intact model file: {otherwise}.")


def _check_outputs(document: Document) -> int:
    classes, name = document["classes"], document["loss"]["name"]
    is_classifier = document["estimator"]["class"] == "ModelTreeClassifier"
    _require(is_classifier == (classes is not None), "classes are those of a classifier")
    _require(is_classifier == (name == "log_loss"), f"loss {name} does not fit the estimator")
    values = [] if classes is None else classes["values"]
    is_possible = len(values) == 2 or "positive" not in document["loss"]
    _require(is_possible, "only one of two classes is the positive one")
    if classes is None:
        return 1
    _require(len(values) >= 2, "a classifier needs two classes")
    _require(len(set(values)) == len(values), "a class occurs twice")
    _check_labels(classes)
    return 1 if len(values) == 2 else len(values)


def _check_labels(labels: Document) -> None:
    kinds = {"b": (bool,), "i": (int,), "u": (int,), "f": (float, int), "s": (str,)}
    accepted = kinds.get(labels["dtype"][0], (str, int, float, bool))
    fits = all(type(value) in accepted for value in labels["values"])
    _require(fits, f"labels are not all of the type {labels['dtype']}")
    if labels["dtype"][0] in "iu":
        bits = int(labels["dtype"].lstrip("uint"))
        least = -(2 ** (bits - 1)) if labels["dtype"][0] == "i" else 0
        fits = all(least <= value < least + 2**bits for value in labels["values"])
        _require(fits, f"labels are out of the range of {labels['dtype']}")


def _check_shapes(document: Document, sizes: dict[str, int]) -> None:
    """Every array of a document, or of its path, has the size of its axes."""
    sizes = {**sizes, "node": len(document["tree"]["left"])}
    if "candidates" in document:
        sizes["candidate and end"] = len(document["candidates"]["node"]) + 1
    if "steps" in document:
        sizes["step and end"] = len(document["steps"]["numbers"]) + 1
    for part in array_parts(document):
        for name, annotation in arrays(part).items():
            if name in document[part]:
                _check_shape(document[part][name], annotation["axes"], sizes, f"{part}.{name}")
    _require(sizes["node"] >= 1, "the tree has no node")


def _check_shape(values: Any, axes: list[str], sizes: dict[str, int], where: str) -> None:
    if not axes:
        return
    expected = sizes.setdefault(axes[0], len(values))
    _require(
        len(values) == expected,
        f"{where} has {len(values)} entries instead of {expected} (one per {axes[0]})",
    )
    for value in values if len(axes) > 1 else ():
        _check_shape(value, axes[1:], sizes, where)


def _check_columns(columns: list[Document]) -> None:
    names = [column["name"] for column in columns]
    _require(len(set(names)) == len(names), "a name of a column occurs twice")
    for column in columns:
        categories = column["categories"]
        unique = categories is None or len(set(categories)) == len(categories)
        _require(unique, f"a category of column {column['name']!r:.60} occurs twice")
        _check_special_values(column)
    _check_dates(columns)


def _check_dates(columns: list[Document]) -> None:
    """The parts of a date follow its days, which have the name of the date's own column."""
    for before, column in zip([{}, *columns], columns, strict=False):
        date, known = column.get("date"), before.get("date")
        if date is None:
            continue
        is_text = date["part"] in ("month", "weekday")
        _require((column["categories"] is not None) == is_text, "a part of a date is no such part")
        if date["part"] == "days":
            _require(column["name"] == date["source"], "days have another name than their dates")
        else:
            fits = known is not None and {**known, "part": ""} == {**date, "part": ""}
            _require(fits, "a part of a date does not follow its days")


def _check_special_values(column: Document) -> None:
    special, name = column.get("special"), f"column {column['name']!r:.60}"
    if special is None:
        return
    _require(column["categories"] is None, f"{name} has categories and special values")
    _require(len(special) > 0, f"{name} has an empty list of special values")
    for part in ("value", "word"):
        found = [entry[part] for entry in special]
        _require(len(set(found)) == len(found), f"a special value of {name} occurs twice")


def _check_offsets(columns: list[Document], document: Document) -> None:
    offsets = document.get("offsets", [])
    kinds = {offset["is_exposure"] for offset in offsets}
    _require(len(kinds) == len(offsets), "there are two exposures, or two offsets")
    n_extra = sum(offset["is_extra"] for offset in offsets)
    for offset in offsets:
        _require(0 <= offset["column"] < len(columns), "an offset is out of range")
        _require(columns[offset["column"]]["categories"] is None, "an offset is no number")
        is_last = offset["column"] >= len(columns) - n_extra
        _require(is_last == offset["is_extra"], "an offset beside X is not at the end")
    is_log = document["loss"]["name"] in _LOG_LINKS
    _require(is_log or True not in kinds, "only with a log link is there an exposure")


def _check_terms(columns: list[Document], terms: Document) -> None:
    n_terms = terms["n_terms"]
    n_own = n_terms - len(terms["hinge_at"])  # the hinges come last
    _require(n_own >= 0, "there are more hinges than terms")
    for first, x, what in (
        ("first_knot", "knot_x", "knots"),
        ("first_hinge", "hinge_at", "hinges"),
    ):
        inside = terms[first][0] == 0 and terms[first][-1] == len(terms[x])
        _require(inside, f"{what} begin or end wrongly")
    for j, column in enumerate(columns):
        categories, first = column["categories"], terms["first_term"][j]
        is_category = categories is not None
        kind = is_category if first >= 0 else terms["is_category"][j]  # no term: of no kind
        _require(terms["is_category"][j] == kind, f"column {j} is of two kinds")
        width = len(categories) if is_category else 1
        own = max(first + width if first >= 0 else 0, terms["missing_term"][j] + 1)
        _require(own <= n_own, f"terms of column {j} are out of range")
        _require(math.isfinite(terms["fill"][j]), f"fill of column {j} is not finite")
        _check_special(terms, j, len(column.get("special", ())), n_own)
        _check_knots(terms, j, is_category)
        _check_hinges(terms, j, is_category)


def _check_special(terms: Document, column: int, n_special: int, n_own: int) -> None:
    first = terms.get("first_special", [0] * (column + 2))
    own = terms.get("special_term", [])[first[column] : first[column + 1]]
    fits = first[column + 1] - first[column] == len(own) == n_special
    _require(fits and all(-1 <= t < n_own for t in own), f"special values of column {column}")


def _check_knots(terms: Document, column: int, is_category: bool) -> None:
    start, stop = terms["first_knot"][column], terms["first_knot"][column + 1]
    _require(start <= stop, f"knots of column {column} are out of range")
    _require(stop == start or not is_category, f"column {column} has categories and knots")
    is_finite = all(map(math.isfinite, terms["knot_z"][start:stop]))
    _require(
        is_finite and _ascend(terms["knot_x"][start:stop]),
        f"knots of column {column} are not ascending numbers",
    )


def _check_hinges(terms: Document, column: int, is_category: bool) -> None:
    start, stop = terms["first_hinge"][column], terms["first_hinge"][column + 1]
    _require(start <= stop, f"hinges of column {column} are out of range")
    is_number = not is_category and terms["first_term"][column] >= 0
    _require(stop == start or is_number, f"column {column} has hinges, and no number for them")
    _require(
        _ascend(terms["hinge_at"][start:stop]),
        f"hinges of column {column} are not ascending numbers",
    )


def _ascend(values: list[float]) -> bool:
    """Whether these are numbers, each larger than the one before."""
    return all(map(math.isfinite, values)) and all(
        before < after for before, after in zip(values, values[1:], strict=False)
    )


def _check_nodes(columns: list[Document], tree: Document) -> None:
    n_nodes = len(tree["left"])
    parents = [0] * n_nodes
    for node, (left, right) in enumerate(zip(tree["left"], tree["right"], strict=True)):
        _require((left == _LEAF) == (right == _LEAF), f"node {node} has one child")
        if left == _LEAF:
            continue
        for child in (left, right):
            _require(node < child < n_nodes, f"node {node} has the child {child}")
            parents[child] += 1
        _check_split(columns, tree, node)
    _require(all(n == 1 for n in parents[1:]), "a node has no parent, or two")


def _check_split(columns: list[Document], tree: Document, node: int) -> None:
    feature, first = tree["feature"][node], tree["first_category"][node]
    _require(0 <= feature < len(columns), f"node {node} splits column {feature}")
    categories = columns[feature]["categories"]
    is_number = math.isfinite(tree["threshold"][node])
    if categories is None:
        _require(is_number, f"node {node} has no threshold")
    else:
        _require(not is_number, f"node {node} splits categories like numbers")
    _check_sides(tree, first, columns[feature], f"node {node}")


def _check_sides(splits: Document, first: int, column: Document, where: str) -> None:
    """Categories, or special values, of a column have their sides; a plain number has none."""
    codes = column["categories"]
    if codes is None:
        codes = column.get("special")
    if codes is None:
        _require(first == -1, f"{where} splits numbers like categories")
    else:
        inside = 0 <= first <= len(splits["categories"]) - len(codes)
        _require(inside, f"the categories of {where} are out of range")


def _check_candidates(columns: list[Document], tree: Document, candidates: Document) -> None:
    _require(
        _are_parts(candidates["first_point"], len(candidates["position"])),
        "the points of candidates begin or end wrongly",
    )
    for k, (node, feature) in enumerate(
        zip(candidates["node"], candidates["feature"], strict=True)
    ):
        is_inner = 0 <= node < len(tree["left"]) and tree["left"][node] != _LEAF
        _require(is_inner, f"candidate {k} stands at node {node}")
        _require(0 <= feature < len(columns), f"candidate {k} splits column {feature}")
        first = candidates["first_category"][k]
        _check_sides(candidates, first, columns[feature], f"candidate {k}")


def _check_models(tree: Document) -> None:
    for node in range(len(tree["left"])):
        numbers = [*tree["intercept"][node], *(c for row in tree["coef"][node] for c in row)]
        _require(all(map(math.isfinite, numbers)), f"the model of node {node} is not finite")
        clamps = zip(tree["clamp_low"][node], tree["clamp_high"][node], strict=True)
        _require(all(low <= high for low, high in clamps), f"clamps of node {node} are no ranges")
        are_ranges = all(map(_is_range, tree["score_low"][node], tree["score_high"][node]))
        _require(are_ranges, f"limits of node {node} are no ranges")


def _is_range(low: float, high: float) -> bool:
    """Whether some number lies between."""
    return low <= high and low < math.inf and high > -math.inf


def _check_steps(path: Document, sizes: dict[str, int]) -> None:
    steps, n_nodes = path["steps"], len(path["tree"]["left"])
    first = steps["first_entry"]
    _require(len(first) > 1, "the path has no step")
    _require(_are_parts(first, len(steps["node"])), "entries of the path begin or end wrongly")
    for name, least, end in (
        ("node", 0, n_nodes),
        ("output", 0, sizes["output"]),
        ("term", -1, sizes["term"]),
    ):
        inside = all(least <= position < end for position in steps[name])
        _require(inside, f"a {name} of the path is out of range")
    for k, (start, stop) in enumerate(zip(first, first[1:], strict=False)):
        total = sum(map(abs, steps["value"][start:stop]))
        _require(math.isfinite(total), f"the model of step {k} is not finite")
    are_ranges = all(map(_is_range, steps["limit_low"], steps["limit_high"]))
    _require(are_ranges, "limits of a step are no range")


def _are_parts(first: list[int], n: int) -> bool:
    """Whether these positions, and the end, cut n entries into parts."""
    ascend = all(before <= after for before, after in zip(first, first[1:], strict=False))
    return ascend and first[:1] == [0] and first[-1] == n


# --- writing -------------------------------------------------------------------------------------


def to_text(document: Document) -> str:
    """A document as the text of a model file; fails where reading it back would."""
    encoded = {
        part: _encoded(entry) if part in (*_PARTS, "path") else entry
        for part, entry in document.items()
    }
    text = json.dumps(encoded, allow_nan=False, indent=1, check_circular=False)
    parse(text)
    return text + "\n"


def _encoded(values: Any) -> Any:
    if isinstance(values, dict):
        return {name: _encoded(value) for name, value in values.items()}
    if isinstance(values, list):
        return [_encoded(value) for value in values]
    if isinstance(values, float) and not math.isfinite(values):
        return "nan" if math.isnan(values) else "inf" if values > 0 else "-inf"
    return values
