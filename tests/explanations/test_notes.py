"""Notes on columns: left out for others, or counting against their own direction."""

import numpy as np
import pandas as pd
from near_columns import PLAIN, table

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, explain, load
from glassleaf.explanations.notes import twins


def test_what_is_left_out_is_said(rng, tmp_path):
    X, y = table(rng)
    model = ModelTreeRegressor(**PLAIN).fit(X, y)
    ((left_out, kept),) = twins(model.tree_).items()
    one, other = X.columns[left_out], X.columns[kept]
    said = f"{one} says nearly the same as {other} (correlation 0.995) and is left out"
    assert said in model.export_text()
    assert any(said in note for note in explain(model).notes)
    assert said not in model.at(numbers=1).export_text()
    steps = [step for step in model.path_ if f"{one}, nearly the same as {other}," in step.what]
    assert len(steps) == 1
    model.save(tmp_path / "model.json")
    assert said in load(tmp_path / "model.json").export_text()


def test_a_sign_against_the_column_itself_is_said(rng):
    X, y = table(rng)
    assert np.corrcoef(X["d"], y)[0, 1] > 0.2
    said = "d lowers the score beside the other columns, though by itself it goes with a higher one"
    model = ModelTreeRegressor(**PLAIN).fit(X, y)
    assert [note.startswith(said) for note in explain(model).notes] == [False, True]
    assert said in model.export_text()
    two = ModelTreeClassifier(**PLAIN).fit(X, y > 0)
    assert any(note.startswith(said) for note in explain(two).notes)
    assert not any("by itself" in note for note in explain(model.at(numbers=1)).notes)


def test_signs_of_several_classes_are_those_of_their_scores(rng):
    X, y = table(rng)
    model = ModelTreeClassifier(**PLAIN).fit(X[["c", "d"]], np.digitize(y, [-2.0, 2.0]))
    notes = [note for note in explain(model).notes if "by itself" in note]
    assert any(note.startswith("d lowers the score of 2 beside") for note in notes)
    assert any(note.startswith("d raises the score of 0 beside") for note in notes)


def test_a_broken_line_without_direction_contradicts_nothing(rng):
    x = rng.uniform(-2, 2, size=3000)
    X = pd.DataFrame({"x": x, "z": x + rng.normal(size=3000)})
    y = np.abs(x) + 0.5 * x - X["z"] + 0.1 * rng.normal(size=3000)
    model = ModelTreeRegressor(n_jobs=1, max_depth=0, curves=True).fit(X, y)
    assert explain(model).bent == ("x",)
    assert not any(note.startswith("x ") for note in explain(model).notes)
