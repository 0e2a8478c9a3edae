"""The tree as PMML 4.4: one regression model per leaf, the first whose rule holds is used.

``MiningModel`` with ``selectFirst``: the rule of a segment is the way to its leaf. A comparison
with a missing value is *unknown* in PMML and an unknown rule does not hold, so that every rule says
by itself which way missing values go.

The side of a split with fewer leaves comes first. So a rule need not say that a row took the other
side, else an earlier segment would have been used; rules of deep leaves leave that out.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any
from xml.etree import ElementTree as Xml

from glassleaf._version import __version__
from glassleaf.errors import ExportError
from glassleaf.export.limits import portable_model
from glassleaf.tree.plain import (
    Label,
    Numbers,
    PlainColumn,
    PlainLeaf,
    PlainModel,
    PlainOffset,
    PlainSplit,
    date_texts,
)

_NAMESPACE = "http://www.dmg.org/PMML-4_4"
_METHODS = {"identity": "none", "log": "exp", "logit": "logit", "softmax": "softmax"}
# What XML 1.0 cannot hold, however it is quoted; and what parsers change in attributes.
_FORBIDDEN = {chr(code) for code in range(32)} - {"\t", "\n", "\r"} | {"\ufffe", "\uffff"}

# Steps to a leaf from which on a rule leaves out those that the order of the segments says.
_LONGEST_RULE = 20

Element = Xml.Element
_Step = tuple[PlainSplit, bool]  # a split, and whether its left side is meant


def to_pmml(estimator: Any, *, target: str = "y") -> str:
    """The tree as a PMML 4.4 document.

    Parameters
    ----------
    estimator : fitted ModelTreeRegressor or ModelTreeClassifier
    target : str, default="y"
        Name of the target field.

    Returns
    -------
    str
        XML. Outputs: ``prediction``, or ``label`` and ``probability(...)`` of every class.
    """
    document = _Writer(portable_model(estimator), target).document()
    Xml.indent(document)
    # References for all that is not ASCII, so that no reader can take a wrong encoding.
    text: bytes = Xml.tostring(document, encoding="us-ascii", xml_declaration=True)
    return text.decode("ascii") + "\n"


class _Writer:
    def __init__(self, model: PlainModel, target: str) -> None:
        self.model, self.target = model, target
        names = [column.name for column in model.columns]
        if target in names:
            raise ValueError(f"target={target!r} is the name of a column; choose another.")
        for text in [target, *names, *_texts(model)]:
            _check_text(text)
        # Derived fields are ours; their names must not be those of columns.
        self.prefix = "term of "
        while any(name.startswith(self.prefix) for name in [*names, target]):
            self.prefix += "_"

    @property
    def function(self) -> str:
        return "regression" if self.model.classes is None else "classification"

    def document(self) -> Element:
        root = Xml.Element("PMML", {"xmlns": _NAMESPACE, "version": "4.4"})
        said = date_texts(self.model)
        header = Xml.SubElement(root, "Header", {"description": " ".join(said)} if said else {})
        Xml.SubElement(header, "Application", {"name": "glassleaf", "version": __version__})
        dictionary = Xml.SubElement(root, "DataDictionary")
        for column in self.model.columns:
            kind = "double" if column.categories is None else _data_type(column)
            self._data_field(dictionary, column.name, kind, column.categories)
        # Labels are texts here, whatever they are: evaluators look probabilities up by text.
        kind = "double" if self.model.classes is None else "string"
        self._data_field(dictionary, self.target, kind, self.model.classes)
        self._transformations(root)
        self._mining_model(root)
        return root

    def _data_field(
        self, parent: Element, name: str, kind: str, categories: tuple[Label, ...] | None
    ) -> None:
        optype = "continuous" if categories is None else "categorical"
        field = Xml.SubElement(
            parent, "DataField", {"name": name, "optype": optype, "dataType": kind}
        )
        for category in categories or ():
            Xml.SubElement(field, "Value", {"value": _text(category, kind)})

    def _mining_model(self, root: Element) -> None:
        model = Xml.SubElement(
            root, "MiningModel", {"modelName": "model tree", "functionName": self.function}
        )
        used = [self.model.columns[j].name for j in self.model.used]
        self._schema(model, used)
        self._output(model)
        segmentation = Xml.SubElement(model, "Segmentation", {"multipleModelMethod": "selectFirst"})
        for leaf, rule in self._rules():
            segment = Xml.SubElement(segmentation, "Segment", {"id": str(leaf.node)})
            self._rule(segment, rule)
            self._leaf(segment, leaf)

    def _rules(self) -> Iterator[tuple[PlainLeaf, list[_Step]]]:
        """Every leaf with what leads to it."""
        n_leaves = _leaves_below(self.model)
        waiting: list[tuple[int, list[_Step], bool]] = [(0, [], False)]
        while waiting:
            number, above, is_deep = waiting.pop()
            node = self.model.nodes[number]
            if isinstance(node, PlainLeaf):
                yield node, above
                continue
            is_deep = is_deep or len(above) >= _LONGEST_RULE
            sides = [(node.left, True), (node.right, False)]
            (first, is_left), (other, _) = sorted(sides, key=lambda side: n_leaves[side[0]])
            waiting.append((other, above if is_deep else [*above, (node, not is_left)], is_deep))
            waiting.append((first, [*above, (node, is_left)], is_deep))

    def _output(self, model: Element) -> None:
        output = Xml.SubElement(model, "Output")
        if self.model.classes is None:
            attributes = {"optype": "continuous", "dataType": "double", "feature": "predictedValue"}
            Xml.SubElement(output, "OutputField", {"name": "prediction", **attributes})
            return
        kind = _label_type(self.model.classes)
        Xml.SubElement(
            output, "OutputField",
            {"name": "label", "optype": "categorical", "dataType": kind,
             "feature": "predictedValue"},
        )  # fmt: skip
        for label in self.model.classes:
            Xml.SubElement(
                output, "OutputField",
                {"name": f"probability({_text(label)})", "optype": "continuous",
                 "dataType": "double", "feature": "probability", "value": _text(label)},
            )  # fmt: skip

    # --- terms -----------------------------------------------------------------------------------

    def _transformations(self, root: Element) -> None:
        """One field per number: its transform, or the fill if missing."""
        used = self.model.numbers
        if not used and not self.model.offsets:
            return
        transformations = Xml.SubElement(root, "TransformationDictionary")
        for offset in self.model.offsets:
            column = self.model.columns[offset.column]
            field = self._derived(transformations, self._offset_name(offset))
            field = _apply(field, "ln") if offset.is_exposure else field
            Xml.SubElement(field, "FieldRef", {"field": column.name})
        for j in used:
            self._term(transformations, self.model.columns[j])

    def _term(self, transformations: Element, column: PlainColumn) -> None:
        """The term of a number; a missing or special value is the fill."""
        name = self._term_name(column)
        if not column.knots:
            self._filled(self._derived(transformations, name), column, column.name)
            return
        source = self._term_name(column, " as a number") if column.special else name
        norm = Xml.SubElement(
            self._derived(transformations, source), "NormContinuous",
            {"field": column.name, "outliers": "asExtremeValues",
             "mapMissingTo": repr(column.fill)},
        )  # fmt: skip
        for x, z in column.knots:
            Xml.SubElement(norm, "LinearNorm", {"orig": repr(x), "norm": repr(z)})
        if column.special:
            self._filled(self._derived(transformations, name), column, source)

    def _filled(self, field: Element, column: PlainColumn, source: str) -> None:
        """A field of numbers, or the fill where the column's value is missing or special."""
        branch = _apply(field, "if")
        Xml.SubElement(_apply(branch, "isMissing"), "FieldRef", {"field": column.name})
        _constant(branch, column.fill)
        for value, _ in column.special:
            branch = _apply(branch, "if")
            self._compared(branch, "equal", column.name, value)
            _constant(branch, column.fill)
        Xml.SubElement(branch, "FieldRef", {"field": source})

    def _compared(self, parent: Element, function: str, field: str, value: float) -> None:
        compared = _apply(parent, function)
        Xml.SubElement(compared, "FieldRef", {"field": field})
        _constant(compared, value)

    def _derived(self, parent: Element, name: str) -> Element:
        return Xml.SubElement(
            parent, "DerivedField", {"name": name, "optype": "continuous", "dataType": "double"}
        )

    def _term_name(self, column: PlainColumn, suffix: str = "") -> str:
        return f"{self.prefix}{column.name}{suffix}"

    def _offset_name(self, offset: PlainOffset) -> str:
        column = self.model.columns[offset.column]
        return self._term_name(column, ", known beforehand")

    def _offset_fields(self) -> list[tuple[str, Numbers]]:
        """The fields that every sum adds."""
        ones = (1.0,) * self.model.n_outputs
        return [(self._offset_name(offset), ones) for offset in self.model.offsets]

    # --- rules -----------------------------------------------------------------------------------

    def _rule(self, segment: Element, path: list[_Step]) -> None:
        if not path:
            Xml.SubElement(segment, "True")
            return
        parent = segment
        if len(path) > 1:
            parent = Xml.SubElement(segment, "CompoundPredicate", {"booleanOperator": "and"})
        for split, is_left in path:
            self._step(parent, split, is_left)

    def _step(self, parent: Element, split: PlainSplit, is_left: bool) -> None:
        column = self.model.columns[split.column]
        special = [
            value
            for code, (value, _) in enumerate(column.special)
            if (code in split.left_codes) == is_left
        ]
        if split.missing_left == is_left or special:
            parent = Xml.SubElement(parent, "CompoundPredicate", {"booleanOperator": "or"})
        if split.missing_left == is_left:
            Xml.SubElement(
                parent, "SimplePredicate", {"field": column.name, "operator": "isMissing"}
            )
        for value in special:
            _simple(parent, column, "equal", value)
        if column.special:  # a number is none of them
            parent = Xml.SubElement(parent, "CompoundPredicate", {"booleanOperator": "and"})
            for value, _ in column.special:
                _simple(parent, column, "notEqual", value)
        if column.categories is None:
            _simple(parent, column, "lessOrEqual" if is_left else "greaterThan", split.threshold)
            return
        # The side that categories never seen do not take is a list, the other one is the rest.
        listed = [
            code
            for code in range(len(column.categories))
            if (code in split.left_codes) != split.unknown_left
        ]
        operator = "isNotIn" if split.unknown_left == is_left else "isIn"
        values = [column.categories[code] for code in listed]
        # Readers differ in what a backslash in a text of an array means.
        if len(values) == 1 or any("\\" in str(value) for value in values):
            self._one_by_one(parent, column, values, operator == "isIn")
            return
        if not values:  # nothing is listed: no category, or all
            Xml.SubElement(
                parent, *(("SimplePredicate", {"field": column.name, "operator": "isNotMissing"})
                          if operator == "isNotIn" else ("False", {})),
            )  # fmt: skip
            return
        predicate = Xml.SubElement(
            parent, "SimpleSetPredicate", {"field": column.name, "booleanOperator": operator}
        )
        kind = "string" if column.holds_text else "real"
        array = Xml.SubElement(predicate, "Array", {"n": str(len(values)), "type": kind})
        array.text = " ".join(map(_array_entry, values))

    def _one_by_one(
        self, parent: Element, column: PlainColumn, values: list[Label], is_in: bool
    ) -> None:
        """Whether a category is one of some, or none of them, without an array."""
        if len(values) > 1:
            kind = {"booleanOperator": "or" if is_in else "and"}
            parent = Xml.SubElement(parent, "CompoundPredicate", kind)
        for value in values:
            Xml.SubElement(
                parent, "SimplePredicate",
                {"field": column.name, "operator": "equal" if is_in else "notEqual",
                 "value": _text(value, _data_type(column))},
            )  # fmt: skip

    # --- leaves ----------------------------------------------------------------------------------

    def _leaf(self, segment: Element, leaf: PlainLeaf) -> None:
        if leaf.is_limited:
            self._limited(segment, leaf)
            return
        model = self._regression(segment, self._columns(leaf))
        fields = [*self._leaf_fields(model, leaf), *self._offset_fields()]
        for k, attributes in enumerate(self._outputs()):
            self._table(model, leaf, fields, k, attributes)
        self._other_class(model)

    def _limited(self, segment: Element, leaf: PlainLeaf) -> None:
        """A chain of models: the sum for every output, and what they are within the limits."""
        chain = Xml.SubElement(segment, "MiningModel", {"functionName": self.function})
        self._schema(chain, self._columns(leaf))
        parts = Xml.SubElement(chain, "Segmentation", {"multipleModelMethod": "modelChain"})
        sums = [f"{self.prefix}sum {k} in leaf {leaf.node}" for k in range(self.model.n_outputs)]
        for k, name in enumerate(sums):
            model = self._regression(self._always(parts), self._columns(leaf), is_sum=True)
            Xml.SubElement(
                Xml.SubElement(model, "Output"), "OutputField",
                {"name": name, "optype": "continuous", "dataType": "double",
                 "feature": "predictedValue", "isFinalResult": "false"},
            )  # fmt: skip
            self._table(model, leaf, self._leaf_fields(model, leaf), k, {})
        offsets = [self.model.columns[offset.column].name for offset in self.model.offsets]
        model = self._regression(self._always(parts), [*sums, *offsets])
        transformations = Xml.SubElement(model, "LocalTransformations")
        for k, (name, attributes) in enumerate(zip(sums, self._outputs(), strict=True)):
            within = f"{name} within its limits"
            self._clamp(self._derived(transformations, within), name, leaf.low[k], leaf.high[k])
            table = Xml.SubElement(model, "RegressionTable", {"intercept": "0.0", **attributes})
            for field in (within, *(field for field, _ in self._offset_fields())):
                Xml.SubElement(table, "NumericPredictor", {"name": field, "coefficient": "1.0"})
        self._other_class(model)

    def _always(self, parent: Element) -> Element:
        segment = Xml.SubElement(parent, "Segment")
        Xml.SubElement(segment, "True")
        return segment

    def _regression(self, segment: Element, names: list[str], is_sum: bool = False) -> Element:
        """A regression on some fields, to be filled; a mere sum has no link and no target."""
        link = {"functionName": self.function, "normalizationMethod": _METHODS[self.model.link]}
        attributes = {"functionName": "regression"} if is_sum else link
        model = Xml.SubElement(segment, "RegressionModel", attributes)
        self._schema(model, names, has_target=not is_sum)
        return model

    def _columns(self, leaf: PlainLeaf) -> list[str]:
        used = [term.column for term in leaf.terms]
        used += [offset.column for offset in self.model.offsets]
        return [self.model.columns[column].name for column in used]

    def _schema(self, model: Element, names: list[str], has_target: bool = True) -> None:
        schema = Xml.SubElement(model, "MiningSchema")
        if has_target:
            Xml.SubElement(schema, "MiningField", {"name": self.target, "usageType": "target"})
        for name in names:
            # A category that training never saw is no error: rules and terms say what it means.
            Xml.SubElement(schema, "MiningField", {"name": name, "invalidValueTreatment": "asIs"})

    def _outputs(self) -> list[dict[str, str]]:
        """What tells the tables of the outputs apart."""
        if self.model.classes is None:
            return [{}]
        if self.model.link == "softmax":
            return [{"targetCategory": _text(label)} for label in self.model.classes]
        return [{"targetCategory": _text(self.model.classes[self.model.positive])}]

    def _other_class(self, model: Element) -> None:
        """Of two classes, the first table has the log-odds, the other class the rest."""
        if self.model.classes is not None and self.model.link == "logit":
            other = _text(self.model.classes[1 - self.model.positive])
            Xml.SubElement(model, "RegressionTable", {"intercept": "0.0", "targetCategory": other})

    def _leaf_fields(self, model: Element, leaf: PlainLeaf) -> list[tuple[str, Numbers]]:
        """The fields of every number, with their coefficients: its value, bends and states."""
        transformations = Xml.Element("LocalTransformations")
        fields: list[tuple[str, Numbers]] = []
        for term in leaf.terms:
            column = self.model.columns[term.column]
            value = self._term_name(column)
            if term.of_value and term.is_clamped:
                value = self._term_name(column, f" in leaf {leaf.node}")
                field = self._derived(transformations, value)
                self._clamp(field, self._term_name(column), term.low, term.high)
            fields.append((value, term.slope))
            for at, numbers in term.bends:
                name = self._term_name(column, f" above {at!r} in leaf {leaf.node}")
                self._above(self._derived(transformations, name), value, at)
                fields.append((name, numbers))
            if term.missing:
                missing = self._term_name(column, f" is missing in leaf {leaf.node}")
                branch = _apply(self._derived(transformations, missing), "if")
                Xml.SubElement(_apply(branch, "isMissing"), "FieldRef", {"field": column.name})
                _constant(branch, 1.0)
                _constant(branch, 0.0)
                fields.append((missing, term.missing))
            for code, numbers in term.categories.items() if column.special else ():
                special = column.special[code][0]
                name = self._term_name(column, f" is {special!r} in leaf {leaf.node}")
                branch = _apply(self._derived(transformations, name), "if")
                Xml.SubElement(_apply(branch, "isMissing"), "FieldRef", {"field": column.name})
                _constant(branch, 0.0)
                known = _apply(branch, "if")
                self._compared(known, "equal", column.name, special)
                _constant(known, 1.0)
                _constant(known, 0.0)
                fields.append((name, numbers))
        if len(transformations):
            model.append(transformations)
        return [(name, numbers) for name, numbers in fields if numbers]

    def _clamp(self, field: Element, name: str, low: float, high: float) -> None:
        for function, limit in (("max", low), ("min", high)):
            if abs(limit) < inf:
                field = _apply(field, function)
                _constant(field, limit)
        Xml.SubElement(field, "FieldRef", {"field": name})

    def _above(self, field: Element, name: str, at: float) -> None:
        """How far a field lies above a place, 0 below it."""
        largest = _apply(field, "max")
        _constant(largest, 0.0)
        difference = _apply(largest, "-")
        Xml.SubElement(difference, "FieldRef", {"field": name})
        _constant(difference, at)

    def _table(
        self, model: Element, leaf: PlainLeaf, fields: list[tuple[str, Numbers]], k: int,
        attributes: dict[str, str],
    ) -> None:  # fmt: skip
        table = Xml.SubElement(
            model, "RegressionTable", {"intercept": repr(leaf.intercept[k]), **attributes}
        )
        for name, numbers in fields:  # the schema wants numeric predictors first
            Xml.SubElement(
                table, "NumericPredictor", {"name": name, "coefficient": repr(numbers[k])}
            )
        for term in leaf.terms:
            column = self.model.columns[term.column]
            for code, numbers in term.categories.items() if column.is_category else ():
                category = _text((column.categories or ())[code], _data_type(column))
                Xml.SubElement(
                    table, "CategoricalPredictor",
                    {"name": column.name, "value": category, "coefficient": repr(numbers[k])},
                )  # fmt: skip


def _leaves_below(model: PlainModel) -> list[int]:
    out = [1] * len(model.nodes)
    for number in range(len(model.nodes) - 1, -1, -1):  # children before parents
        node = model.nodes[number]
        if isinstance(node, PlainSplit):
            out[number] = out[node.left] + out[node.right]
    return out


def _simple(parent: Element, column: PlainColumn, operator: str, value: float) -> None:
    """A comparison of a number in a rule."""
    attributes = {"field": column.name, "operator": operator, "value": repr(value)}
    Xml.SubElement(parent, "SimplePredicate", attributes)


def _apply(parent: Element, function: str) -> Element:
    return Xml.SubElement(parent, "Apply", {"function": function})


def _constant(parent: Element, value: float) -> None:
    Xml.SubElement(parent, "Constant", {"dataType": "double"}).text = repr(value)


def _text(label: Label, kind: str = "") -> str:
    if isinstance(label, bool):
        return "true" if label else "false"
    if kind == "double" and not isinstance(label, str):
        return repr(float(label))
    return label if isinstance(label, str) else repr(label)


def _array_entry(label: Label) -> str:
    """An entry of a PMML array: texts in quotes, with backslashes before quotes in them.

    No text with a backslash is one.

    >>> print(_array_entry('say "hi"'))
    "say \\"hi\\""
    """
    if not isinstance(label, str):
        return _text(label, "double")
    return '"' + label.replace('"', '\\"') + '"'


def _label_type(labels: tuple[Label, ...]) -> str:
    for kind, dtype in ((bool, "boolean"), (int, "integer"), ((int, float), "double")):
        if all(isinstance(label, kind) for label in labels):
            return dtype
    return "string"


def _data_type(column: PlainColumn) -> str:
    kinds = {type(category) for category in column.categories or ()}
    if kinds == {bool}:
        return "boolean"
    if not column.holds_text:
        return "double"
    if kinds > {str}:
        raise ExportError(
            f"Column {column.name!r} has categories of text and of numbers; a field of PMML has"
            " one type."
        )
    return "string"


def _texts(model: PlainModel) -> list[str]:
    labels = [label for column in model.columns for label in column.categories or ()]
    return [label for label in [*labels, *(model.classes or ())] if isinstance(label, str)]


def _check_text(text: str) -> None:
    if _FORBIDDEN & set(text) or any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise ExportError(f"{text!r} contains a character that XML cannot hold.")
