"""Model trees: shallow decision trees with a linear or logistic model in every leaf.

Names are imported when they are first used, so that a scorer needs neither numba nor scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from glassleaf._version import __version__ as __version__
from glassleaf.startup import importing as _importing

if TYPE_CHECKING:
    from glassleaf import criteria, export, losses
    from glassleaf.errors import ExportError, GlassleafError, MissingExtraError, ModelFileError
    from glassleaf.estimators import ModelTreeClassifier, ModelTreeRegressor
    from glassleaf.explanations import (
        Counterfactual,
        ModelExplanation,
        Reason,
        RowExplanation,
        ShapValues,
        counterfactuals,
        explain,
        leaf_table,
        reasons,
        shap_values,
    )
    from glassleaf.governance import (
        GroupScores,
        group_scores,
        model_card,
    )
    from glassleaf.loading import load
    from glassleaf.mimicry import Mimic, mimic
    from glassleaf.paper import paper_settings
    from glassleaf.plots import (
        CalibrationDisplay,
        CurveDisplay,
        DependenceDisplay,
        GainDisplay,
        LiftDisplay,
        RegionDisplay,
        RowDisplay,
        TreeDisplay,
    )
    from glassleaf.scoring import load_scorer
    from glassleaf.tree import Tree
    from glassleaf.weak_models import SklearnModel, WeakModel

__all__ = [
    "CalibrationDisplay",
    "Counterfactual",
    "CurveDisplay",
    "DependenceDisplay",
    "ExportError",
    "GainDisplay",
    "GlassleafError",
    "GroupScores",
    "LiftDisplay",
    "Mimic",
    "MissingExtraError",
    "ModelExplanation",
    "ModelFileError",
    "ModelTreeClassifier",
    "ModelTreeRegressor",
    "Reason",
    "RegionDisplay",
    "RowDisplay",
    "RowExplanation",
    "ShapValues",
    "SklearnModel",
    "Tree",
    "TreeDisplay",
    "WeakModel",
    "counterfactuals",
    "criteria",
    "explain",
    "export",
    "group_scores",
    "leaf_table",
    "load",
    "load_scorer",
    "losses",
    "mimic",
    "model_card",
    "paper_settings",
    "reasons",
    "shap_values",
]

# Where each name lives; one that is not here is a module of its own.
_HOMES = {
    "CalibrationDisplay": "plots",
    "Counterfactual": "explanations",
    "CurveDisplay": "plots",
    "DependenceDisplay": "plots",
    "ExportError": "errors",
    "GainDisplay": "plots",
    "GlassleafError": "errors",
    "GroupScores": "governance",
    "LiftDisplay": "plots",
    "Mimic": "mimicry",
    "MissingExtraError": "errors",
    "ModelExplanation": "explanations",
    "ModelFileError": "errors",
    "ModelTreeClassifier": "estimators",
    "ModelTreeRegressor": "estimators",
    "Reason": "explanations",
    "RegionDisplay": "plots",
    "RowDisplay": "plots",
    "RowExplanation": "explanations",
    "ShapValues": "explanations",
    "SklearnModel": "weak_models",
    "Tree": "tree",
    "TreeDisplay": "plots",
    "WeakModel": "weak_models",
    "counterfactuals": "explanations",
    "explain": "explanations",
    "group_scores": "governance",
    "leaf_table": "explanations",
    "load": "loading",
    "load_scorer": "scoring",
    "mimic": "mimicry",
    "model_card": "governance",
    "paper_settings": "paper",
    "reasons": "explanations",
    "shap_values": "explanations",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _importing():
        home = import_module(f"{__name__}.{_HOMES.get(name, name)}")
    found = getattr(home, name) if name in _HOMES else home
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({"__version__", *__all__})
