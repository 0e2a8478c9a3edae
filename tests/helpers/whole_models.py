"""Estimators without a limit of numbers: every leaf has a formula of its own."""

from functools import partial

import glassleaf

ModelTreeRegressor = partial(glassleaf.ModelTreeRegressor, max_numbers=None)
ModelTreeClassifier = partial(glassleaf.ModelTreeClassifier, max_numbers=None)
