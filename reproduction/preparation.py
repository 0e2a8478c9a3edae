"""What a method is given of a table: the table as it is, or numbers as the paper made them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer

from glassleaf.checks import choice
from reproduction.datasets import Dataset

Rows = NDArray[np.intp]

# Beyond so many columns most of a one-hot encoded table is zeros.
_DENSE_COLUMNS = 100


def native(data: Dataset, train: Rows, test: Rows) -> tuple[Any, Any]:
    """The table as it is, with its categories and missing values."""
    return data.X.iloc[train], data.X.iloc[test]


def one_hot(data: Dataset, train: Rows, test: Rows) -> tuple[Any, Any]:
    """Missing numbers become the median, a category becomes a column of zeros and ones."""
    return _encoded(data, train, test, SimpleImputer(strategy="median"))


def with_missing(data: Dataset, train: Rows, test: Rows) -> tuple[Any, Any]:
    """As ``one_hot``, but missing numbers stay missing."""
    return _encoded(data, train, test, FunctionTransformer())


def quantile(data: Dataset, train: Rows, test: Rows) -> tuple[Any, Any]:
    """As ``one_hot``, and numbers become their ranks among the training rows, 0 to 1."""
    ranks = QuantileTransformer(n_quantiles=min(1000, len(train)), subsample=None)
    return _encoded(data, train, test, make_pipeline(SimpleImputer(strategy="median"), ranks))


PREPARATIONS = {"native": native, "one-hot": one_hot, "quantile": quantile}


def prepare(kind: str, data: Dataset, train: Rows, test: Rows) -> tuple[Any, Any]:
    return choice("preparation", kind, PREPARATIONS)(data, train, test)


def category_columns(X: Any) -> list[str]:
    return [name for name in X if str(X[name].dtype) == "category"]


def encoded_columns(X: Any) -> int:
    """Number of columns after one-hot encoding; a missing category has none of its own."""
    return sum(_width(X[name]) for name in X)


def _width(column: Any) -> int:
    return len(column.cat.categories) if str(column.dtype) == "category" else 1


def _encoded(data: Dataset, train: Rows, test: Rows, transformer: Any) -> tuple[Any, Any]:
    texts = category_columns(data.X)
    numbers = data.X.drop(columns=texts).to_numpy(np.float64)
    parts = [
        (transformer.fit_transform(numbers[train]), train),
        (transformer.transform(numbers[test]), test),
    ]
    if not texts:
        return parts[0][0], parts[1][0]
    keep_sparse = encoded_columns(data.X) > _DENSE_COLUMNS
    found = []
    for values, rows in parts:
        matrix = sparse.hstack(
            [sparse.csr_matrix(values), *(_indicators(data.X[name].iloc[rows]) for name in texts)],
            format="csr",
        )
        found.append(matrix if keep_sparse else matrix.toarray())
    return found[0], found[1]


def _indicators(column: Any) -> Any:
    codes = column.cat.codes.to_numpy().astype(np.intp)
    rows = np.flatnonzero(codes >= 0)
    return sparse.csr_matrix(
        (np.ones(len(rows)), (rows, codes[rows])), shape=(len(codes), _width(column))
    )
