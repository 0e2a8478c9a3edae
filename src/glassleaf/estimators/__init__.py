"""The two estimators, and what leads to and from them."""

from glassleaf.estimators.classifier import ModelTreeClassifier
from glassleaf.estimators.regressor import ModelTreeRegressor

__all__ = ["ModelTreeClassifier", "ModelTreeRegressor"]
