"""Model trees: shallow decision trees with a linear or logistic model in every leaf."""

from glassleaf import criteria, losses
from glassleaf.errors import GlassleafError, MissingExtraError
from glassleaf.estimators import ModelTreeClassifier, ModelTreeRegressor
from glassleaf.explain import (
    ModelExplanation,
    RowExplanation,
    ShapValues,
    counterfactuals,
    explain,
    leaf_table,
    reasons,
    shap_values,
)
from glassleaf.paper import paper_settings
from glassleaf.tree import Tree
from glassleaf.weak_models import SklearnModel, WeakModel

__version__ = "0.1.0.dev0"

__all__ = [
    "GlassleafError",
    "MissingExtraError",
    "ModelExplanation",
    "ModelTreeClassifier",
    "ModelTreeRegressor",
    "RowExplanation",
    "ShapValues",
    "SklearnModel",
    "Tree",
    "WeakModel",
    "counterfactuals",
    "criteria",
    "explain",
    "leaf_table",
    "losses",
    "paper_settings",
    "reasons",
    "shap_values",
]
