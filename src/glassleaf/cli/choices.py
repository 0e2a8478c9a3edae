"""Values of options, where there are only a few."""

from __future__ import annotations

from enum import StrEnum


class Task(StrEnum):
    """What is to be predicted."""

    classification = "classification"
    regression = "regression"


class OnError(StrEnum):
    """What to do with a row that cannot be used."""

    stop = "stop"
    skip = "skip"


class Language(StrEnum):
    """What a model can be written in."""

    onnx = "onnx"
    pmml = "pmml"
    sql = "sql"
    c = "c"
    python = "python"
    js = "js"
    scorecard = "scorecard"


class SqlDialect(StrEnum):
    """The databases that were tested."""

    duckdb = "duckdb"
    sqlite = "sqlite"
    postgresql = "postgresql"
