"""Displays in scikit-learn's manner: ``SomeDisplay.from_estimator(...)``, ``.plot(ax=...)``.

A display holds explanations (see ``glassleaf.explanations``) and draws them; it knows nothing else.
matplotlib is imported when something is drawn.
"""

from glassleaf.plots.curves import CurveDisplay
from glassleaf.plots.dependence import DependenceDisplay
from glassleaf.plots.gains import GainDisplay
from glassleaf.plots.leaves import CalibrationDisplay, LiftDisplay
from glassleaf.plots.regions import RegionDisplay
from glassleaf.plots.rows import RowDisplay
from glassleaf.plots.trees import TreeDisplay

__all__ = [
    "CalibrationDisplay",
    "CurveDisplay",
    "DependenceDisplay",
    "GainDisplay",
    "LiftDisplay",
    "RegionDisplay",
    "RowDisplay",
    "TreeDisplay",
]
