"""The README's picture of a report: the first screen of the one on bicycle rentals.

    GLASSLEAF_DATA=folder python -m benchmarks.screenshot [--png docs/report.png]

It needs the browser that the tests of the report need (``apt-get install chromium``).
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path

from playwright.sync_api import sync_playwright
from sklearn.model_selection import train_test_split

from benchmarks.postcard import NUMBERS, table
from glassleaf import ModelTreeRegressor

SIZE = {"width": 1100, "height": 720}


def write_report(path: Path) -> None:
    X, y = table()
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = ModelTreeRegressor(max_numbers=NUMBERS).fit(train, y_train)
    model.report(test, y_test, target="rentals", title="Bicycles rented per hour").write(path)


def photograph(page: Path, png: Path) -> None:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        opened = browser.new_page(viewport=SIZE)
        opened.goto(page.as_uri())
        opened.screenshot(path=png)
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--png", type=Path, default=Path("docs/report.png"))
    given = parser.parse_args()
    warnings.filterwarnings("ignore", "y looks like counts", UserWarning)
    with tempfile.TemporaryDirectory() as folder:
        write_report(Path(folder) / "report.html")
        photograph(Path(folder) / "report.html", given.png)


if __name__ == "__main__":
    main()
