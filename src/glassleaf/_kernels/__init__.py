"""Tight loops. Arrays in, arrays out; no Python objects.

Every kernel is compiled once per machine (see ``cache``) and releases the GIL, so that threads
may run it side by side. Conventions:

* ``ptr, idx`` (and ``val``, empty when every stored value is 1) are the usual compressed rows;
* a *block* of split features is stored the same way: row i lies in the bins
  ``block_bins[block_ptr[i]:block_ptr[i + 1]]`` of the block;
* indices are unsigned where it matters: numba need not test them for being negative;
* a kernel lies in one file with those it calls, for numba looks only there to see whether what it
  has compiled is still valid. Exceptions are ``compiling``, ``registers``, ``states`` and
  ``trees.interpolate``: after a change of them, ``make clean-kernels`` removes what was compiled.
"""

from glassleaf._kernels.descent import descend_coordinates
from glassleaf._kernels.first_run import announce_compilation
from glassleaf._kernels.grams import (
    scale_rows,
    standardize_grams,
    sum_dense_grams,
    sum_moments,
    sum_sparse_gram,
    sum_sparse_grams,
)
from glassleaf._kernels.models import (
    LARGEST_EXPONENT,
    binary_log_loss,
    gamma,
    huber,
    multiclass_log_loss,
    poisson,
    predict_raw,
    squared_error,
    sum_columns,
    sum_log_loss,
    sum_multiclass_log_loss,
)
from glassleaf._kernels.splits import (
    combine_sides,
    fill_complements,
    ranges_dense,
    ranges_sparse,
    row_length,
    sum_dense,
    sum_one_output,
    sum_sparse,
    sum_uniform,
    sum_values,
    zscore_gains,
)
from glassleaf._kernels.trees import find_leaves, interpolate_pieces, sum_terms
from glassleaf._kernels.values import (
    append_entries,
    assign_bins,
    distinct_values,
    find_segments,
    merge_values,
    put_together,
    take_rows,
)

__all__ = [
    "LARGEST_EXPONENT",
    "announce_compilation",
    "append_entries",
    "assign_bins",
    "binary_log_loss",
    "combine_sides",
    "descend_coordinates",
    "distinct_values",
    "fill_complements",
    "find_leaves",
    "find_segments",
    "gamma",
    "huber",
    "interpolate_pieces",
    "merge_values",
    "multiclass_log_loss",
    "poisson",
    "predict_raw",
    "put_together",
    "ranges_dense",
    "ranges_sparse",
    "row_length",
    "scale_rows",
    "squared_error",
    "standardize_grams",
    "sum_columns",
    "sum_dense",
    "sum_dense_grams",
    "sum_log_loss",
    "sum_moments",
    "sum_multiclass_log_loss",
    "sum_one_output",
    "sum_sparse",
    "sum_sparse_gram",
    "sum_sparse_grams",
    "sum_terms",
    "sum_uniform",
    "sum_values",
    "take_rows",
    "zscore_gains",
]
