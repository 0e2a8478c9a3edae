"""Model trees: shallow decision trees with a linear or logistic model in every leaf."""

from glassleaf import criteria, losses
from glassleaf.errors import GlassleafError, MissingExtraError
from glassleaf.estimators import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.explanations import (
    ModelExplanation,
    RowExplanation,
    ShapValues,
    counterfactuals,
    explain,
    leaf_table,
    reasons,
    shap_values,
)
from glassleaf.governance import GroupScores, group_scores, model_card
from glassleaf.mimicry import Mimic, mimic
from glassleaf.paper import paper_settings
from glassleaf.plots import (
    CalibrationDisplay,
    DependenceDisplay,
    GainDisplay,
    LiftDisplay,
    RegionDisplay,
    RowDisplay,
    TreeDisplay,
)
from glassleaf.tree import Tree
from glassleaf.weak_models import SklearnModel, WeakModel

__version__ = "0.1.0.dev0"

__all__ = [
    "CalibrationDisplay",
    "DependenceDisplay",
    "GainDisplay",
    "GlassleafError",
    "GroupScores",
    "LiftDisplay",
    "Mimic",
    "MissingExtraError",
    "ModelExplanation",
    "ModelTreeClassifier",
    "ModelTreeRegressor",
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
    "group_scores",
    "leaf_table",
    "losses",
    "mimic",
    "model_card",
    "paper_settings",
    "reasons",
    "shap_values",
]
