"""``python -m reproduction``, from the project folder."""

import sys

from glassleaf.errors import MissingExtraError

try:
    from reproduction.command import app
except MissingExtraError as missing:
    sys.exit(str(missing))

if __name__ == "__main__":
    app()
