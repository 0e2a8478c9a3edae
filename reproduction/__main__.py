"""``python -m reproduction``, the same as ``glassleaf reproduce``."""

import sys

from glassleaf.errors import MissingExtraError

try:
    from reproduction.command import reproduce, typer
except MissingExtraError as missing:
    sys.exit(str(missing))

if __name__ == "__main__":
    typer.run(reproduce)
