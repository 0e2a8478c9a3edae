"""A fitted tree in the languages of other systems.

Every export reads the plain model (see ``tree.plain``) and nothing else. docs/production.md says
how closely each agrees with ``predict``; tests/export checks it with the real consumer.
"""

from glassleaf.export.c import to_c
from glassleaf.export.javascript import to_javascript
from glassleaf.export.onnx import to_onnx
from glassleaf.export.pmml import to_pmml
from glassleaf.export.python import to_python
from glassleaf.export.scorecard import Scorecard, to_scorecard
from glassleaf.export.sql import to_sql

__all__ = [
    "Scorecard",
    "to_c",
    "to_javascript",
    "to_onnx",
    "to_pmml",
    "to_python",
    "to_scorecard",
    "to_sql",
]
