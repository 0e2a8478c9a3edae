"""Random models: files, containers, exports and texts say what predict says.

A few seeds of the soak (``make soak``), whose checks are in ``helpers/differential.py``.
"""

import differential
import pytest

QUICK = [name for name in differential.CHECKS if name not in differential.SLOW]


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_everything_agrees(seed):
    found = differential.run(seed, QUICK)
    assert not {
        name: what for name, what in found.items() if what not in ("ok", "refused", "not here")
    }


@pytest.mark.parametrize("seed", [2000])
def test_so_do_compiled_and_interpreted_exports(seed):
    found = differential.run(seed, sorted(differential.SLOW))
    assert set(found.values()) <= {"ok", "not here"}


def test_a_difference_is_found(monkeypatch):
    """A check that cannot fail says nothing."""
    monkeypatch.setattr(differential.Trial, "records", property(lambda trial: trial.rows[::-1]))
    trial = differential.draw(1000)
    with pytest.raises(AssertionError):
        differential.check_scorer(trial)
