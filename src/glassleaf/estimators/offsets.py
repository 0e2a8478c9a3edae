"""What ``exposure`` and ``offset`` of a fit mean: columns that the score adds as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from glassleaf.errors import describe
from glassleaf.fit.train import Trained
from glassleaf.losses import Loss
from glassleaf.rows.settings import Roles
from glassleaf.tables.table import Column, Table, column_name, select_columns, with_column
from glassleaf.tree.offset import Offset, given_numbers


def find_offsets(
    table: Table, loss: Loss, exposure: Any, offset: Any, in_memory: bool = True
) -> tuple[Table, tuple[Offset, ...]]:
    """The offsets of a fit, and the table with a column for each of them."""
    if exposure is not None and loss.link != "log":
        raise ValueError(
            f"exposure needs a loss with a log link, such as 'poisson'; {describe(loss)} has none."
            " There, give sample_weight or offset."
        )
    found = []
    for parameter, given in (("exposure", exposure), ("offset", offset)):
        if given is None:
            continue
        is_extra = not isinstance(given, str)
        if is_extra and not in_memory:
            raise TypeError(
                f"{parameter}={describe(given)} must be the name of a column, for X is no table in"
                " memory."
            )
        if is_extra:
            _check_name(table, parameter)
            table = with_column(table, parameter, given_numbers(given, parameter, table.n_rows))
            place = table.n_columns - 1
        else:
            place = int(select_columns(table, [given], parameter).argmax())
        if table.holds_text(place):
            raise TypeError(f"{parameter} names the column {given!r}, which does not hold numbers.")
        found.append(Offset(place, parameter == "exposure", is_extra))
    return table, tuple(found)


def _check_name(table: Table, parameter: str) -> None:
    if parameter in (table.names or ()):
        raise ValueError(
            f"X has a column {parameter!r}, and {parameter} is given beside it. Drop the column, or"
            f" say {parameter}={parameter!r}."
        )


def without_offsets(roles: Roles, table: Table, offsets: Sequence[Offset]) -> Roles:
    """Roles in which the columns of offsets neither split nor stand in the models."""
    for offset in offsets:
        if roles.categorical[offset.column]:
            name = column_name(table, offset.column)
            raise ValueError(f"{offset.parameter} and categorical_features both name {name!r}.")
        roles = roles.without(select_columns(table, [offset.column], offset.parameter))
    return replace(roles, aside=tuple(offset.column for offset in offsets))


def with_offsets(trained: Trained, offsets: Sequence[Offset]) -> Trained:
    """A tree, and the path it is cut from, whose scores add the offsets."""
    if not offsets:
        return trained
    columns = list(trained.tree.columns)
    for offset in offsets:
        if offset.is_extra:
            columns[offset.column] = Column(offset.parameter)
    own: dict[str, Any] = {"columns": tuple(columns), "offsets": tuple(offsets)}
    path = trained.path
    if path is not None:
        path = replace(path, whole=replace(path.whole, **own))
    return replace(trained, tree=replace(trained.tree, **own), path=path)
