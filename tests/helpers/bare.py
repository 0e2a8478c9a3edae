"""Estimators without anything that goes beyond the paper, for tests of the paper's method.

The defaults are what users get and what most tests are about. Where a test says which split or
which coefficients come out by the paper's equations, or needs a tree that splits whether that is
significant or not, it asks for these.
"""

from glassleaf import ModelTreeClassifier, ModelTreeRegressor, paper_settings

# What the three methods of the paper have in common.
BARE = {name: value for name, value in paper_settings("MT-GR").items() if name != "criterion"}


def regressor(**given):
    return ModelTreeRegressor(**BARE | given)


def classifier(**given):
    return ModelTreeClassifier(**BARE | given)
