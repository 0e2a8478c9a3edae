"""``python -m glassleaf.reproduce``, the same as ``glassleaf reproduce``."""

import sys

from glassleaf.errors import MissingExtraError

try:
    from glassleaf.reproduce.command import reproduce, typer
except MissingExtraError as missing:
    sys.exit(str(missing))

if __name__ == "__main__":
    typer.run(reproduce)
