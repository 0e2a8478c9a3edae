"""The command ``glassleaf``. Without the extra ``cli`` it says how to get it."""

import sys

from glassleaf.errors import MissingExtraError

__all__ = ["main"]

try:
    from glassleaf.cli.app import app as main
except MissingExtraError as missing:
    _message = str(missing)

    def main() -> None:
        sys.exit(_message)
