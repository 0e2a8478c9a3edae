"""The tree as an ONNX graph of plain operators, in double precision.

ONNX has an operator for ensembles of trees, but its leaves hold constants. So the graph says what
prediction does: comparisons choose a leaf, and the leaf's coefficients are gathered from tables
with one row per leaf. Raw columns come in, one input each: doubles, or strings for categories of
text; all results are doubles.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, nan
from typing import Any

import numpy as np

from glassleaf._version import __version__
from glassleaf.errors import ExportError, require
from glassleaf.export.limits import portable_model
from glassleaf.tree.plain import (
    LARGEST_EXPONENT,
    Numbers,
    PlainColumn,
    PlainLeaf,
    PlainModel,
    PlainSplit,
    PlainTerm,
    Points,
    date_texts,
)

_OPSET, _ML_OPSET = 17, 3
_IR_VERSION = 8


def to_onnx(estimator: Any, *, missing_text: str = "") -> Any:
    """The tree as an ONNX model.

    Parameters
    ----------
    estimator : fitted ModelTreeRegressor or ModelTreeClassifier
    missing_text : str, default=""
        The text that stands for a missing category; ONNX knows no missing strings. A missing
        number is NaN.

    Returns
    -------
    onnx.ModelProto
        Inputs: one per column, by its name, of shape (rows, 1); doubles, or strings where the
        categories are text. A column of dates is several inputs, for ONNX knows no dates: the
        model's ``doc_string`` says which. Outputs: ``prediction`` (rows,), or ``label`` (rows,) and
        ``probabilities`` (rows, classes); and ``leaf`` (rows,).
    """
    onnx = require("onnx", extra="onnx", purpose="Exporting to ONNX")
    graph = _Graph(onnx, portable_model(estimator), missing_text)
    model = onnx.helper.make_model(
        graph.build(),
        opset_imports=[
            onnx.helper.make_opsetid("", _OPSET),
            onnx.helper.make_opsetid("ai.onnx.ml", _ML_OPSET),
        ],
        ir_version=_IR_VERSION,
        producer_name="glassleaf",
        producer_version=__version__,
        doc_string=" ".join(date_texts(graph.model)),
    )
    onnx.checker.check_model(model)
    return model


class _Graph:
    """Collects nodes; a tensor is known by its name."""

    def __init__(self, onnx: Any, model: PlainModel, missing_text: str) -> None:
        self.helper, self.types = onnx.helper, onnx.TensorProto
        self.numpy_helper = onnx.numpy_helper
        self.model, self.missing_text = model, missing_text
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        # Inputs carry the names of the columns, outputs their own; these are neither.
        taken = {column.name for column in model.columns}
        self.prefix = "_"
        while any(name.startswith(self.prefix) for name in taken):
            self.prefix += "_"
        self.row_of_leaf = {leaf.node: row for row, leaf in enumerate(model.leaves)}

    # --- small pieces ----------------------------------------------------------------------------

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add an operator with one output; returns its name."""
        output = output or f"{self.prefix}{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def constant(self, values: Any, dtype: str = "float64") -> str:
        name = f"{self.prefix}c{len(self.constants)}"
        array = np.asarray(values, dtype=object if dtype == "str" else dtype)
        self.constants.append(self.numpy_helper.from_array(array, name))
        return name

    def flat(self, tensor: str, output: str = "") -> str:
        return self.op("Reshape", tensor, self.constant([-1], "int64"), output=output)

    # --- the whole -------------------------------------------------------------------------------

    def build(self) -> Any:
        columns = self.model.columns
        taken = {column.name for column in columns} & {
            "prediction", "label", "probabilities", "leaf"
        }  # fmt: skip
        if taken or "" in {column.name for column in columns}:
            name = min(taken) if taken else ""
            raise ExportError(f"A column is named {name!r}, as an output is; rename it for ONNX.")
        self.cells = {j: self._cell(columns[j]) for j in self.model.used}
        leaf = self._leaf_row(0)
        raw = self._with_offsets(self._raw(leaf))
        numbers = self.constant([one.node for one in self.model.leaves], "int64")
        self.flat(self.op("Gather", numbers, leaf), output="leaf")
        outputs = [*self._results(raw), ("leaf", self.types.INT64, ["rows"])]
        return self.helper.make_graph(
            self.nodes,
            "model tree",
            [self._input(column) for column in columns],
            [self.helper.make_tensor_value_info(*output) for output in outputs],
            self.constants,
        )

    def _input(self, column: PlainColumn) -> Any:
        kind = self.types.STRING if column.holds_text else self.types.DOUBLE
        return self.helper.make_tensor_value_info(column.name, kind, ["rows", 1])

    # --- cells: numbers, or positions in tables that begin with missing and unknown --------------

    def _cell(self, column: PlainColumn) -> str:
        if column.categories is None:
            return self._number(column)
        if column.holds_text:
            return self._text_code(column)
        # Numbers: 2 + code where one is equal, 1 where none is, 0 where the cell is missing.
        labels = [[float(category) for category in column.categories]]
        equal = self.op("Cast", self.op("Equal", column.name, self.constant(labels)), to=7)
        weight = self.constant([[code + 1] for code in range(len(column.categories))], "int64")
        known = self.op("Add", self.op("MatMul", equal, weight), self.constant(1, "int64"))
        missing = self.op("IsNaN", column.name)
        return self.op("Where", missing, self.constant(0, "int64"), known)

    def _number(self, column: PlainColumn) -> str:
        """A number, NaN where it is missing or special."""
        cell = column.name
        for value, _ in column.special:
            is_special = self.op("Equal", column.name, self.constant(value))
            cell = self.op("Where", is_special, self.constant(nan), cell)
        return cell

    def _states(self, column: PlainColumn, missing: Any, by_code: Mapping[int, Any]) -> list[Any]:
        """What is said of missing values and of special ones, each with the rows it is about."""
        found = [(self.op("IsNaN", column.name), missing)] if missing else []
        return found + [
            (self.op("Equal", column.name, self.constant(column.special[code][0])), own)
            for code, own in by_code.items()
        ]

    def _text_code(self, column: PlainColumn) -> str:
        texts = column.categories or ()
        if not all(isinstance(text, str) for text in texts):
            raise ExportError(
                f"Column {column.name!r} has categories of text and of numbers; an input of ONNX"
                " has one type."
            )
        if self.missing_text in texts:
            raise ExportError(
                f"missing_text={self.missing_text!r} is a category of column {column.name!r};"
                " choose another text for missing values."
            )
        codes = range(2, len(texts) + 2)
        return self.op(
            "LabelEncoder", column.name, domain="ai.onnx.ml", default_int64=1,
            keys_strings=[self.missing_text, *texts], values_int64s=[0, *codes],
        )  # fmt: skip

    # --- the tree --------------------------------------------------------------------------------

    def _leaf_row(self, number: int) -> str:
        """Row of the leaf in the tables, shape (rows, 1), for rows that reach this node."""
        row_of: dict[int, str] = {}
        for node in range(len(self.model.nodes) - 1, -1, -1):  # children before parents
            found = self.model.nodes[node]
            if isinstance(found, PlainLeaf):
                row_of[node] = self.constant(self.row_of_leaf[node], "int64")
            else:
                left, right = row_of[found.left], row_of[found.right]
                row_of[node] = self.op("Where", self._condition(found), left, right)
        if isinstance(self.model.nodes[0], PlainLeaf):  # the same leaf for every row
            return self._per_row(row_of[0])
        return row_of[number]

    def _per_row(self, constant: str) -> str:
        shape = self.op("Shape", self.model.columns[0].name)
        return self.op("Expand", constant, shape)

    def _condition(self, split: PlainSplit) -> str:
        cell, column = self.cells[split.column], self.model.columns[split.column]
        if column.categories is not None:
            codes = range(len(column.categories))
            left = [split.missing_left, split.unknown_left, *(c in split.left_codes for c in codes)]
            return self.op("Gather", self.constant(left, "bool"), cell)
        test = self.op("LessOrEqual", cell, self.constant(split.threshold))
        special = dict.fromkeys(sorted(split.left_codes), True)
        for here, _ in self._states(column, split.missing_left, special):
            test = self.op("Or", test, here)
        return test

    # --- sums ------------------------------------------------------------------------------------

    def _raw(self, leaf: str) -> str:
        """Sums of the leaf's terms, shape (rows, outputs)."""
        leaves = self.model.leaves
        row = self.flat(leaf)
        total = self.op("Gather", self.constant([one.intercept for one in leaves]), row)
        for j in self.model.used:
            terms = {
                k: term for k, one in enumerate(leaves) for term in one.terms if term.column == j
            }
            if not terms:
                continue
            if self.model.columns[j].is_category:
                total = self.op("Add", total, self._category_term(j, terms, leaf))
                continue
            has_missing = any(term.missing for term in terms.values())
            missing = {k: term.missing for k, term in terms.items()} if has_missing else {}
            by_code = {
                code: {k: term.categories.get(code, ()) for k, term in terms.items()}
                for code in sorted({code for term in terms.values() for code in term.categories})
            }
            for here, numbers in self._states(self.model.columns[j], missing, by_code):
                is_here = self.op("Cast", here, to=11)
                added = self.op("Mul", self.op("Gather", self._table(numbers), row), is_here)
                total = self.op("Add", total, added)
            if any(term.of_value for term in terms.values()):
                limits = {k: ((term.low,), (term.high,)) for k, term in terms.items()}
                value = self._limited(self._value(j), limits, row)
                slope = self._table({k: term.slope for k, term in terms.items()})
                added = self.op("Mul", self.op("Gather", slope, row), value)
                total = self.op("Add", total, added)
                for at, numbers in self._bends(terms):
                    above = self.op("Sub", value, self.constant(at))
                    above = self.op("Max", above, self.constant(0.0))
                    added = self.op("Mul", self.op("Gather", self._table(numbers), row), above)
                    total = self.op("Add", total, added)
        return self._limited(total, {k: (one.low, one.high) for k, one in enumerate(leaves)}, row)

    def _with_offsets(self, raw: str) -> str:
        """The sums and what is known beforehand, NaN where that is not known."""
        for offset in self.model.offsets:
            added = self.cells[offset.column]
            if offset.is_exposure:
                is_known = self.op("Greater", added, self.constant(0.0))
                added = self.op("Where", is_known, self.op("Log", added), self.constant(nan))
            raw = self.op("Add", raw, added)
        return raw

    def _bends(self, terms: dict[int, PlainTerm]) -> list[tuple[float, dict[int, Numbers]]]:
        """The places at which some leaf bends, ascending, with the numbers of every leaf there."""
        found: dict[float, dict[int, Numbers]] = {}
        for k, term in terms.items():
            for at, numbers in term.bends:
                found.setdefault(at, {})[k] = numbers
        return sorted(found.items())

    def _table(self, by_row: dict[int, Numbers]) -> str:
        """One row per leaf, one column per output; zero where nothing is added."""
        table = np.zeros((len(self.model.leaves), self.model.n_outputs))
        for row, numbers in by_row.items():
            if numbers:
                table[row] = numbers
        return self.constant(table)

    def _category_term(self, j: int, terms: dict[int, PlainTerm], leaf: str) -> str:
        n_codes = len(self.model.columns[j].categories or ()) + 2
        table = np.zeros((len(self.model.leaves), n_codes, self.model.n_outputs))
        for row, term in terms.items():
            if term.missing:
                table[row, 0] = term.missing
            for code, numbers in term.categories.items():
                table[row, code + 2] = numbers
        start = self.op("Mul", leaf, self.constant(n_codes, "int64"))
        position = self.flat(self.op("Add", start, self.cells[j]))
        flat = self.constant(table.reshape(-1, self.model.n_outputs))
        return self.op("Gather", flat, position)

    def _value(self, j: int) -> str:
        """The term of a number before clamps, shape (rows, 1)."""
        cell, column = self.cells[j], self.model.columns[j]
        missing = self.op("IsNaN", cell)
        value = self.op("Where", missing, self.constant(0.0), cell) if column.knots else cell
        if column.knots:
            value = self._interpolated(value, column.knots)
        return self.op("Where", missing, self.constant(column.fill), value)

    def _interpolated(self, value: str, points: Points) -> str:
        """The sum over all pieces of: how far the value has come in it, times its slope."""
        x, z = np.array(points).T
        way = self.op("Sub", value, self.constant(x[None, :-1]))
        way = self.op("Min", way, self.constant(np.diff(x)[None]))
        way = self.op("Max", way, self.constant(0.0))
        slopes = self.constant((np.diff(z) / np.diff(x))[:, None])
        return self.op("Add", self.op("MatMul", way, slopes), self.constant(z[0]))

    def _limited(self, value: str, limits: Mapping[int, tuple[Numbers, Numbers]], row: str) -> str:
        """Within the low and high ends of every leaf; a leaf without has none."""
        leaves = range(len(self.model.leaves))
        for end, (kind, none) in enumerate((("Max", -inf), ("Min", inf))):
            ends = [limits[k][end] if k in limits else (none,) for k in leaves]
            if np.isfinite(ends).any():
                value = self.op(kind, value, self.op("Gather", self.constant(ends), row))
        return value

    # --- results ---------------------------------------------------------------------------------

    def _results(self, raw: str) -> list[tuple[str, int, list[Any]]]:
        link, classes, types = self.model.link, self.model.classes, self.types
        if classes is None:
            if link == "log":
                raw = self.op("Exp", self.op("Min", raw, self.constant(LARGEST_EXPONENT)))
            self.flat(raw, output="prediction")
            return [("prediction", types.DOUBLE, ["rows"])]
        if link == "logit":
            # onnxruntime's own Sigmoid is 0 below 1e-39.
            nothing = self.op("Sub", raw, raw)
            by_label = (nothing, raw) if self.model.positive else (raw, nothing)
            raw = self.op("Concat", *by_label, axis=1)
        found = self.op("Softmax", raw, axis=1, output="probabilities")
        best = self.op("ArgMax", found, axis=1, keepdims=0)
        kind, dtype = self._label_type()
        self.op("Gather", self.constant(list(classes), dtype), best, output="label")
        return [("label", kind, ["rows"]), ("probabilities", types.DOUBLE, ["rows", len(classes)])]

    def _label_type(self) -> tuple[int, str]:
        classes = self.model.classes or ()
        for kind, dtype, accepted in (
            (self.types.STRING, "str", str),
            (self.types.BOOL, "bool", bool),
            (self.types.INT64, "int64", int),
        ):
            if all(isinstance(label, accepted) for label in classes):
                return kind, dtype
        if any(isinstance(label, str) for label in classes):
            raise ExportError("The classes are of text and of numbers; ONNX needs one type.")
        return self.types.DOUBLE, "float64"
