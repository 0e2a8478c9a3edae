"""The training rows, and every function that touches them.

Each function takes a :class:`Rows` and a task, a named tuple that says which node and what is asked
of it. It returns small arrays that can be added over rows, or changes nothing but the rows' own
state: order, units, the vectors of the next search. The rows of a node lie next to each other, so
that kernels run over a plain range; ``route`` keeps it so.

Passes marked ``in_slices`` may run on slices of these rows (see ``rows.slices``): their tasks have
a ``span``.

There is a module per kind of pass: ``models`` (loss, gradient, Hessian; ``segments`` has them of
several segments of rows at once, ``scatter`` how gradients vary), ``bins`` (sums per bin) and
``routing``. ``data`` are the rows themselves, ``statistics`` what is known of them before their
model, ``hinges`` columns made of others, ``custom`` the passes of models of your own.

Dense columns are standardized over all rows. Where those of a node lie so far out or so close
together that sums of squares would lose digits, ``move_dense`` puts them into the node's own units.
"""

from glassleaf.rows.passes.bins import (
    BinSums,
    BinTask,
    DifferencesTask,
    ResidualsTask,
    SquaresTask,
    TargetTask,
    Wanted,
    WholeTask,
    bin_sums,
    residual_squares,
    set_loss_differences,
    set_newton_residuals,
    set_residuals,
    set_target,
    whole_sums,
)
from glassleaf.rows.passes.custom import (
    CustomFitTask,
    CustomGradientsTask,
    WeakModel,
    fit_custom,
    set_custom_gradients,
)
from glassleaf.rows.passes.data import (
    LEFT,
    NEITHER,
    RIGHT,
    BinSegments,
    ClipTask,
    NodeTask,
    Rows,
    UnitsTask,
    clip_dense,
    move_dense,
    resampled,
    take_back,
)
from glassleaf.rows.passes.hinges import (
    HingesTask,
    ProductsTask,
    StoredHinge,
    add_hinges,
    column_products,
    set_hinges,
    stored_hinges,
)
from glassleaf.rows.passes.models import (
    FoldLossTask,
    FoldSums,
    FoldTask,
    HeldLossTask,
    ModelSums,
    ModelTask,
    RowModel,
    ScoreRanges,
    ScoreTask,
    SeveralModels,
    SeveralTask,
    fold_losses,
    fold_sums,
    held_loss,
    model_sums,
    score_ranges,
    several_sums,
)
from glassleaf.rows.passes.routing import (
    FamilyTask,
    RenameTask,
    RouteTask,
    cover,
    merge,
    rename,
    route,
)
from glassleaf.rows.passes.scatter import Scatter, ScatterTask, group_scatter, row_scatter
from glassleaf.rows.passes.segments import (
    BorderRows,
    BorderTask,
    MovedTask,
    SegmentSums,
    SegmentTask,
    border_rows,
    moved_sums,
    segment_sums,
)
from glassleaf.rows.passes.statistics import (
    Ranges,
    StatisticsTask,
    TargetSumsTask,
    column_ranges,
    node_statistics,
    target_sums,
)

__all__ = [
    "FoldLossTask",
    "SeveralModels",
    "SeveralTask",
    "fold_losses",
    "several_sums",
    "ScoreRanges",
    "ScoreTask",
    "score_ranges",
    "FoldSums",
    "FoldTask",
    "fold_sums",
    "BinSegments",
    "BinSums",
    "BinTask",
    "BorderRows",
    "BorderTask",
    "ClipTask",
    "ProductsTask",
    "HingesTask",
    "CustomFitTask",
    "CustomGradientsTask",
    "DifferencesTask",
    "StoredHinge",
    "FamilyTask",
    "HeldLossTask",
    "LEFT",
    "ModelSums",
    "ModelTask",
    "MovedTask",
    "NEITHER",
    "NodeTask",
    "RIGHT",
    "Ranges",
    "RenameTask",
    "ResidualsTask",
    "RouteTask",
    "RowModel",
    "Rows",
    "Scatter",
    "ScatterTask",
    "SegmentSums",
    "SegmentTask",
    "SquaresTask",
    "StatisticsTask",
    "TargetSumsTask",
    "TargetTask",
    "UnitsTask",
    "Wanted",
    "WeakModel",
    "WholeTask",
    "add_hinges",
    "bin_sums",
    "border_rows",
    "clip_dense",
    "column_ranges",
    "cover",
    "column_products",
    "stored_hinges",
    "fit_custom",
    "group_scatter",
    "held_loss",
    "merge",
    "model_sums",
    "move_dense",
    "moved_sums",
    "node_statistics",
    "rename",
    "resampled",
    "residual_squares",
    "route",
    "row_scatter",
    "segment_sums",
    "set_hinges",
    "set_custom_gradients",
    "set_loss_differences",
    "set_newton_residuals",
    "set_residuals",
    "set_target",
    "take_back",
    "target_sums",
    "whole_sums",
]
