"""The version of glassleaf, in the one place that both the package and its build read."""

__version__ = "0.2.0"
