"""``monitor``: the same as in Python, told by a table, JSON and an exit code."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
from csv_files import Call, write_csv

import glassleaf
from glassleaf.cli.commands.demo import loans


def test_rows_of_the_same_kind_are_quiet(call: Call, model: Path) -> None:
    write_csv(Path("new.csv"), loans(400, 17))
    found = call("monitor", model, "new.csv")
    assert "Nothing has changed by a PSI of 0.25 or more, beyond chance." in found.stdout
    assert "score P(yes)" in found.stdout and "leaves" in found.stdout


def test_a_squeezed_column_is_seen(call: Call, model: Path) -> None:
    table = loans(400, 17)
    place = table.column_names.index("income")
    income = table["income"].to_numpy()
    squeezed = np.mean(income) + (income - np.mean(income)) / 5
    table = table.set_column(place, "income", pa.array(squeezed))
    write_csv(Path("new.csv"), table)
    found = call("monitor", model, "new.csv", code=3)
    assert "beyond chance: income" in found.stdout
    said = json.loads(call("monitor", model, "new.csv", "--json", code=3).stdout)
    estimator = glassleaf.load(model)
    own = glassleaf.monitor(estimator, table.select(list(estimator.feature_names_in_)))
    assert said["changed"][0] == "income" and said["rows"] == 400 == own.rows
    assert [entry["psi"] for entry in said["watched"]] == [entry.psi for entry in own.watched]
    call("monitor", model, "new.csv", "--threshold", "100")


def test_an_older_file_is_refused(call: Call, model: Path) -> None:
    write_csv(Path("new.csv"), loans(40, 17))
    document = json.loads(Path(model).read_text())
    del document["histograms"]
    Path("older.json").write_text(json.dumps(document))
    assert "how its training rows were" in call("monitor", "older.json", "new.csv", code=1).stderr
