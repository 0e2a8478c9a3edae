"""Explanations as data: of a model, of its predictions, of what would have to change.

Everything that shows a model (text, plots, reports) reads the objects made here.
"""
