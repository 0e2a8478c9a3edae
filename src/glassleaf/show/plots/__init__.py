"""Displays in scikit-learn's manner: ``SomeDisplay.from_estimator(...)``, ``.plot(ax=...)``.

A display holds explanations (see ``glassleaf.explanations``) and draws them; it knows nothing else.
matplotlib is imported when something is drawn.
"""

from glassleaf.show.plots.coefficients import CoefficientDisplay
from glassleaf.show.plots.curves import CurveDisplay
from glassleaf.show.plots.decisions import DecisionCurveDisplay
from glassleaf.show.plots.dependence import DependenceDisplay
from glassleaf.show.plots.gains import GainDisplay
from glassleaf.show.plots.learning import LearningCurveDisplay
from glassleaf.show.plots.leaves import CalibrationDisplay, LiftDisplay
from glassleaf.show.plots.paths import PathDisplay
from glassleaf.show.plots.regions import RegionDisplay
from glassleaf.show.plots.rows import RowDisplay
from glassleaf.show.plots.stability import StabilityDisplay
from glassleaf.show.plots.trees import TreeDisplay

__all__ = [
    "CalibrationDisplay",
    "CoefficientDisplay",
    "CurveDisplay",
    "DecisionCurveDisplay",
    "DependenceDisplay",
    "GainDisplay",
    "LearningCurveDisplay",
    "LiftDisplay",
    "PathDisplay",
    "RegionDisplay",
    "RowDisplay",
    "StabilityDisplay",
    "TreeDisplay",
]
