"""Model trees: shallow decision trees with a linear or logistic model in every leaf.

Names are imported when they are first used, so that a scorer needs neither numba nor scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from glassleaf._version import __version__ as __version__

if TYPE_CHECKING:
    from glassleaf import criteria, export, losses
    from glassleaf.errors import ExportError, GlassleafError, MissingExtraError, ModelFileError
    from glassleaf.estimators import ModelTreeClassifier, ModelTreeRegressor
    from glassleaf.estimators.load import load
    from glassleaf.estimators.mimic import Mimic, mimic
    from glassleaf.estimators.paper import paper_settings
    from glassleaf.estimators.stability import stability
    from glassleaf.explanations.comparison import Comparison, compare
    from glassleaf.explanations.counterfactuals.search import Counterfactual, counterfactuals
    from glassleaf.explanations.drift import Drift, monitor
    from glassleaf.explanations.explain import explain
    from glassleaf.explanations.inference import inference
    from glassleaf.explanations.model import ModelExplanation
    from glassleaf.explanations.reasons import Reason, reasons
    from glassleaf.explanations.refits import LearningCurve, Optimism, learning_curve, optimism
    from glassleaf.explanations.rows import RowExplanation
    from glassleaf.explanations.shapley import ShapValues, shap_values
    from glassleaf.explanations.stability import Stability
    from glassleaf.export.relativities import RateBook, relativities
    from glassleaf.fit.models.custom import SklearnModel
    from glassleaf.rows.passes.custom import WeakModel
    from glassleaf.show.card import GroupScores, group_scores, model_card
    from glassleaf.show.plots import (
        CalibrationDisplay,
        CoefficientDisplay,
        CurveDisplay,
        DecisionCurveDisplay,
        DependenceDisplay,
        GainDisplay,
        LearningCurveDisplay,
        LiftDisplay,
        PathDisplay,
        RegionDisplay,
        RowDisplay,
        StabilityDisplay,
        TreeDisplay,
    )
    from glassleaf.show.text.leaf_table import leaf_table
    from glassleaf.tree.scorer import load_scorer
    from glassleaf.tree.tree import Tree

__all__ = [
    "CalibrationDisplay",
    "CoefficientDisplay",
    "Comparison",
    "Counterfactual",
    "CurveDisplay",
    "DecisionCurveDisplay",
    "DependenceDisplay",
    "Drift",
    "ExportError",
    "GainDisplay",
    "GlassleafError",
    "GroupScores",
    "LearningCurve",
    "LearningCurveDisplay",
    "LiftDisplay",
    "Mimic",
    "MissingExtraError",
    "ModelExplanation",
    "ModelFileError",
    "ModelTreeClassifier",
    "ModelTreeRegressor",
    "Optimism",
    "PathDisplay",
    "RateBook",
    "Reason",
    "RegionDisplay",
    "RowDisplay",
    "RowExplanation",
    "ShapValues",
    "SignCheck",
    "SklearnModel",
    "Stability",
    "StabilityDisplay",
    "Tree",
    "TreeDisplay",
    "WeakModel",
    "check_signs",
    "compare",
    "counterfactuals",
    "criteria",
    "explain",
    "export",
    "group_scores",
    "inference",
    "leaf_table",
    "learning_curve",
    "load",
    "load_scorer",
    "losses",
    "mimic",
    "model_card",
    "monitor",
    "optimism",
    "paper_settings",
    "reasons",
    "relativities",
    "shap_values",
    "stability",
]

# Where each name lives; one that is not here is a module of its own.
_HOMES = {
    "CalibrationDisplay": "show.plots",
    "CoefficientDisplay": "show.plots",
    "Comparison": "explanations.comparison",
    "Counterfactual": "explanations.counterfactuals.search",
    "CurveDisplay": "show.plots",
    "DecisionCurveDisplay": "show.plots",
    "DependenceDisplay": "show.plots",
    "Drift": "explanations.drift",
    "ExportError": "errors",
    "GainDisplay": "show.plots",
    "GlassleafError": "errors",
    "GroupScores": "show.card",
    "LearningCurve": "explanations.refits",
    "LearningCurveDisplay": "show.plots",
    "LiftDisplay": "show.plots",
    "Mimic": "estimators.mimic",
    "MissingExtraError": "errors",
    "ModelExplanation": "explanations.model",
    "ModelFileError": "errors",
    "ModelTreeClassifier": "estimators",
    "ModelTreeRegressor": "estimators",
    "Optimism": "explanations.refits",
    "PathDisplay": "show.plots",
    "RateBook": "export.relativities",
    "Reason": "explanations.reasons",
    "RegionDisplay": "show.plots",
    "RowDisplay": "show.plots",
    "RowExplanation": "explanations.rows",
    "ShapValues": "explanations.shapley",
    "SignCheck": "explanations.signs",
    "SklearnModel": "fit.models.custom",
    "Stability": "explanations.stability",
    "StabilityDisplay": "show.plots",
    "Tree": "tree.tree",
    "TreeDisplay": "show.plots",
    "WeakModel": "rows.passes.custom",
    "check_signs": "explanations.signs",
    "compare": "explanations.comparison",
    "counterfactuals": "explanations.counterfactuals.search",
    "explain": "explanations.explain",
    "group_scores": "show.card",
    "inference": "explanations.inference",
    "leaf_table": "show.text.leaf_table",
    "learning_curve": "explanations.refits",
    "load": "estimators.load",
    "load_scorer": "tree.scorer",
    "mimic": "estimators.mimic",
    "model_card": "show.card",
    "monitor": "explanations.drift",
    "optimism": "explanations.refits",
    "paper_settings": "estimators.paper",
    "reasons": "explanations.reasons",
    "relativities": "export.relativities",
    "shap_values": "explanations.shapley",
    "stability": "estimators.stability",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOMES.get(name, name)}")
    found = getattr(home, name) if name in _HOMES else home
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({"__version__", *__all__})
