"""Where the evaluation data come from: a folder of files, or OpenML."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import sklearn.datasets
from scipy.io import arff

from glassleaf.errors import GlassleafError, require

FOLDER_VARIABLE = "GLASSLEAF_DATA"


class DataNotFoundError(GlassleafError, FileNotFoundError):
    """A dataset is neither in the folder nor served by OpenML."""


@dataclass(frozen=True)
class DataFile:
    """A file, its checksum and public source, and other forms in which the data are read.

    ``published`` are the names of the files at the public source, which are read as they are.
    ``openml`` is the number of the same data on OpenML.
    """

    name: str
    sha256: str
    url: str
    published: tuple[str, ...] = ()
    openml: int | None = None


def pandas() -> Any:
    return require("pandas", extra="data", purpose="Reading the evaluation data")


def data_folder(given: str | Path | None) -> Path | None:
    """The folder given, or the one that the environment names."""
    found = given or os.environ.get(FOLDER_VARIABLE)
    return Path(found) if found else None


def read(file: DataFile, folder: str | Path | None = None) -> tuple[Any, str]:
    """All raw columns as a data frame, and a sentence that says where they come from."""
    where = data_folder(folder)
    if where is not None:
        if (where / file.name).is_file():
            return _read_parquet(where / file.name), _origin(where / file.name, file)
        published = [where / name for name in file.published if (where / name).is_file()]
        if published:
            frames = [_read_published(path) for path in published]
            names = ", ".join(path.name for path in published)
            return pandas().concat(frames, ignore_index=True), f"{names}, as published"
    if file.openml is not None:
        return _fetch(file, where), f"OpenML, data set {file.openml}"
    raise DataNotFoundError(_missing(file, where))


def fingerprint(file: DataFile, folder: str | Path | None = None) -> str:
    """What identifies the data without reading them as a table."""
    where = data_folder(folder)
    if where is not None:
        found = [where / name for name in (file.name, *file.published) if (where / name).is_file()]
        if found and found[0].name == file.name:
            found = found[:1]
        if found:
            return " ".join(_sha256(str(path)) for path in found)
    return f"openml {file.openml}"


def _read_parquet(path: Path) -> Any:
    require("pyarrow", extra="data", purpose="Reading parquet files")
    return pandas().read_parquet(path)


def _read_published(path: Path) -> Any:
    if path.suffix == ".csv":
        return pandas().read_csv(path)
    records, _ = arff.loadarff(path)
    data = pandas().DataFrame(records)
    data["class"] = data["class"].astype(int)
    data["year"] = int(path.name[0])  # "1year.arff": one file per year
    return data


def _fetch(file: DataFile, where: Path | None) -> Any:
    try:
        return sklearn.datasets.fetch_openml(data_id=file.openml, as_frame=True, n_retries=1).frame
    except OSError as error:  # no network, or the server is away
        raise DataNotFoundError(f"{_missing(file, where)} ({error})") from error


def _missing(file: DataFile, where: Path | None) -> str:
    asked = (
        f"{file.name} is not in {where}."
        if where is not None
        else f"{file.name} is needed: give its folder with --data or {FOLDER_VARIABLE}."
    )
    published = f", or, as published, {' and '.join(file.published)}" if file.published else ""
    fetched = (
        f" OpenML serves the same data ({file.openml}), but could not be reached."
        if file.openml is not None
        else ""
    )
    return (
        f"{asked} The data are public: {file.url} ."
        f" The folder may hold {file.name} (sha256 {file.sha256}){published}.{fetched}"
    )


def _origin(path: Path, file: DataFile) -> str:
    same = _sha256(str(path)) == file.sha256
    return f"{path.name}, {'checksum as expected' if same else 'checksum differs'}"


@lru_cache
def _sha256(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
