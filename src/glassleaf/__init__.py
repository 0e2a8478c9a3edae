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
    from glassleaf.loading import load
    from glassleaf.paper import paper_settings
    from glassleaf.scoring import load_scorer
    from glassleaf.tree import Tree
    from glassleaf.weak_models import SklearnModel, WeakModel

__all__ = [
    "ExportError",
    "GlassleafError",
    "MissingExtraError",
    "ModelFileError",
    "ModelTreeClassifier",
    "ModelTreeRegressor",
    "SklearnModel",
    "Tree",
    "WeakModel",
    "criteria",
    "export",
    "load",
    "load_scorer",
    "losses",
    "paper_settings",
]

# Where each name lives; one that is not here is a module of its own.
_HOMES = {
    "ExportError": "errors",
    "GlassleafError": "errors",
    "MissingExtraError": "errors",
    "ModelFileError": "errors",
    "ModelTreeClassifier": "estimators",
    "ModelTreeRegressor": "estimators",
    "SklearnModel": "weak_models",
    "Tree": "tree",
    "WeakModel": "weak_models",
    "load": "loading",
    "load_scorer": "scoring",
    "paper_settings": "paper",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOMES.get(name, name)}")
    found = getattr(home, name) if name in _HOMES else home
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
