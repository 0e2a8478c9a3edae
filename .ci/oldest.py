"""The oldest versions that pyproject.toml declares, as constraints for pip: ``make test-oldest``.

``numpy>=2.0`` becomes ``numpy==2.0.*``: its oldest minor version, with its fixes.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

EXTRAS = ("data", "plot", "cli")  # what the core subset of the tests needs besides


def constraints(pyproject: str) -> list[str]:
    project = tomllib.loads(pyproject)["project"]
    given = [*project["dependencies"]]
    for extra in EXTRAS:
        given += project["optional-dependencies"][extra]
    found = [re.fullmatch(r"([\w.-]+)>=([\d.]+)", one) for one in given]
    return sorted({f"{one[1]}=={one[2]}.*" for one in found if one})


if __name__ == "__main__":
    print("\n".join(constraints(Path("pyproject.toml").read_text(encoding="utf-8"))))
