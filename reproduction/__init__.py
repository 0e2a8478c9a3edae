"""The evaluation of Broelemann & Kasneci (2019), run again: ``python -m reproduction``."""
