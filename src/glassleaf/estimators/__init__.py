"""The two estimators, and what leads to and from them."""

from glassleaf.estimators.estimators import ModelTreeClassifier, ModelTreeRegressor

__all__ = ["ModelTreeClassifier", "ModelTreeRegressor"]
