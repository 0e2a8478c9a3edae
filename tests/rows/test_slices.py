"""Slices of a pass over rows: what they are, and that their results add up to the whole."""

import numpy as np
import pytest

from glassleaf.losses import BinaryLogLoss, MulticlassLogLoss, Poisson, SquaredError
from glassleaf.rows import passes as on_rows
from glassleaf.rows import slices
from glassleaf.rows.passes import models
from glassleaf.rows.slices import GRAIN, Slicing
from glassleaf.tables.compressed import Compressed, uniform

N_ROWS, N_DENSE, N_SPARSE, N_BINS = 900, 4, 3, 12


def some_rows(n_outputs):
    """Two features in one block, sparse columns, weights, and rows that are set aside."""
    rng = np.random.default_rng(0)
    plain = rng.random((N_ROWS, N_SPARSE)) < 0.3
    ptr = np.concatenate([[0], np.cumsum(plain.sum(axis=1))]).astype(np.int64)
    sparse = Compressed(ptr, plain.nonzero()[1].astype(np.uint32), np.zeros(0))
    codes = rng.integers(0, N_BINS // 2, (N_ROWS, 2)) + [0, N_BINS // 2]
    return on_rows.Rows(
        dense=rng.normal(size=(N_ROWS, N_DENSE)),
        sparse=sparse,
        n_sparse=N_SPARSE,
        target=rng.integers(0, 2, N_ROWS) * 1.0,
        weight=rng.uniform(0.5, 2.0, N_ROWS),
        blocks=[uniform(codes.astype(np.uint16))],
        spans={3: (50, N_ROWS - 50)},
        vectors=rng.normal(size=(N_ROWS, n_outputs + 1)),
        fold=rng.integers(0, 3, N_ROWS).astype(np.uint8),
        held=rng.random(N_ROWS),
    )


def passes(loss):
    """Every pass that can be cut, with a task."""
    rng = np.random.default_rng(1)
    shape = (loss.n_outputs, N_DENSE + N_SPARSE)
    left, right = (
        on_rows.RowModel(rng.normal(size=shape), rng.normal(size=loss.n_outputs)) for _ in range(2)
    )
    sides = on_rows.BinSegments(0, 0, np.array([1, 1, 1, 2, 2, 0], dtype=np.uint16), 0)
    everything = on_rows.Wanted(N_DENSE + N_SPARSE, squares=True, ranges=True)
    hinges = [on_rows.StoredHinge(place=1, source=0, at=0.2)]
    several = [
        on_rows.SeveralModels(
            rng.normal(size=(4 * shape[0], shape[1])), rng.normal(size=4 * shape[0])
        )
        for _ in range(3)
    ]
    units = np.zeros(N_DENSE), np.ones(N_DENSE)
    ends = np.full(4 * shape[0], 0.8)
    return {
        "model_sums": on_rows.ModelTask(3, left, loss, with_hessian=True),
        "fold_sums": on_rows.FoldTask(3, left, right.intercept, loss, n_folds=3),
        "fold_losses": on_rows.FoldLossTask(3, several, -ends, ends, loss),
        "several_sums": on_rows.SeveralTask(3, several[0], loss),
        "score_ranges": on_rows.ScoreTask(3, left),
        "held_loss": on_rows.HeldLossTask(3, left, loss),
        "segment_sums": on_rows.SegmentTask(3, sides, 3, left, loss),
        "row_scatter": on_rows.ScatterTask(3, sides, (left, right), loss),
        "moved_sums": on_rows.MovedTask(3, sides, 0, 0.1, left, loss),
        "border_rows": on_rows.BorderTask(3, sides, 0, left, right, loss),
        "bin_sums": on_rows.BinTask(3, 0, N_BINS, everything),
        "whole_sums": on_rows.WholeTask(3, everything),
        "residual_squares": on_rows.SquaresTask(3, loss.n_outputs),
        "node_statistics": on_rows.StatisticsTask(3, loss),
        "target_sums": on_rows.TargetSumsTask(3, 2),
        "column_ranges": on_rows.NodeTask(3),
        "column_products": on_rows.ProductsTask(3, [(0, 1), (1, 2)]),
        "set_residuals": on_rows.ResidualsTask(3, left, loss),
        "set_newton_residuals": on_rows.ResidualsTask(3, left, loss),
        "set_loss_differences": on_rows.DifferencesTask(3, left, right, loss),
        "set_target": on_rows.TargetTask(3, loss.n_outputs if loss.n_outputs > 1 else 0),
        "set_hinges": on_rows.HingesTask(3, hinges, *units),
    }


def numbers(result):
    """All numbers of a result, one after the other."""
    if result is None:
        return np.zeros(0)
    fields = vars(result).values() if hasattr(result, "__dataclass_fields__") else [result]
    return np.concatenate([np.ravel(own).astype(float) for own in fields])


CUT = [name for name in on_rows.__all__ if hasattr(getattr(on_rows, name), "slicing")]


def test_every_pass_that_can_be_cut_is_compared():
    assert set(CUT) == set(passes(SquaredError()))


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("loss", [SquaredError(), BinaryLogLoss(), MulticlassLogLoss(3)])
def test_slices_add_up_to_the_whole(monkeypatch, name, loss):
    cut = getattr(on_rows, name)
    task = passes(loss)[name]
    if name == "set_target" and loss.n_outputs == 1:
        in_slices, at_once = some_rows(2), some_rows(2)
    else:
        in_slices, at_once = some_rows(loss.n_outputs), some_rows(loss.n_outputs)
    monkeypatch.setattr(slices, "GRAIN", 1)
    monkeypatch.setattr(slices, "_WORTH_A_SLICE", 0)
    assert len(cut.slicing.cut(in_slices, task)) == 32
    found, expected = cut(in_slices, task), cut.__wrapped__(at_once, task)
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(in_slices.vectors, at_once.vectors)
    np.testing.assert_array_equal(in_slices.dense, at_once.dense)


@pytest.mark.parametrize("loss", [SquaredError(), BinaryLogLoss(), MulticlassLogLoss(3)])
def test_several_models_at_once_are_those_one_by_one(loss):
    """Losses, gradients, ranges of scores; of folds, those of the rows that each fold has."""
    rows, own = some_rows(loss.n_outputs), passes(loss)
    found = on_rows.several_sums(rows, own["several_sums"])
    of_folds = on_rows.fold_losses(rows, own["fold_losses"])
    start, stop = rows.spans[3]
    fold = rows.fold[start:stop]
    for k in range(4):
        here = slice(k * loss.n_outputs, (k + 1) * loss.n_outputs)
        for model_of, given in enumerate(own["fold_losses"].models):
            model = on_rows.RowModel(given.coef[here], given.intercept[here])
            raw = models.raw_prediction(rows, start, stop, model)
            held = np.clip(raw, -0.8, 0.8)
            value, _, _ = loss.derivatives(
                rows.target[start:stop], held.ravel() if loss.n_outputs == 1 else held, False
            )
            value = value * rows.weight[start:stop]
            assert of_folds[model_of, k] == pytest.approx(value[fold == model_of].sum())
            if model_of == 0:
                sums = on_rows.model_sums(rows, on_rows.ModelTask(3, model, loss, False))
                assert found.loss[k] == pytest.approx(sums.loss)
                np.testing.assert_allclose(found.gradient[here], sums.gradient, rtol=1e-9)
                np.testing.assert_allclose(found.low[here], raw.min(axis=0))
                np.testing.assert_allclose(found.high[here], raw.max(axis=0))


def test_folds_of_sums_and_of_losses_are_the_same_rows():
    """The loss of a fold is the same in both passes, however each is cut."""
    loss = SquaredError()
    rows, own = some_rows(1), passes(loss)
    model = own["model_sums"].model
    same = [on_rows.SeveralModels(*model)] * 3
    of_sums = on_rows.fold_sums(rows, own["fold_sums"]).loss
    ends = np.full(1, np.inf)
    task = on_rows.FoldLossTask(3, same, -ends, ends, loss)
    of_losses = on_rows.fold_losses(rows, task)[:, 0]
    np.testing.assert_allclose(of_sums, of_losses, rtol=1e-10)


@pytest.mark.parametrize("loss", [SquaredError(), BinaryLogLoss(), Poisson()])
def test_the_loss_of_folds_is_true_at_the_model_and_at_the_constant(loss):
    """However flat the loss is at the model; between the two it is a parabola."""
    rows, own = some_rows(1), passes(loss)["fold_sums"]
    own = own._replace(model=on_rows.RowModel(3 * own.model.coef, own.model.intercept))
    found = on_rows.fold_sums(rows, own)
    way = np.append(-own.model.coef, own.constant - own.model.intercept)
    full = np.tril(found.hessian[:, 0]) + np.tril(found.hessian[:, 0], -1).transpose(0, 2, 1)
    quadratic = found.loss + found.gradient[:, 0] @ way + way @ full @ way / 2
    start, stop = rows.spans[3]
    target = rows.target[start:stop]
    value, _, _ = loss.derivatives(target, np.full(len(target), own.constant[0]), False)
    of_fold = np.bincount(rows.fold[start:stop], value * rows.weight[start:stop], minlength=3)
    np.testing.assert_allclose(quadratic, of_fold, rtol=1e-9)


# --- where a pass is cut -------------------------------------------------------------------------


class Long:
    """Rows of which only the number matters."""

    def __init__(self, n_rows, first=0):
        self.spans = {0: (first, first + n_rows)}


def cuts(n_rows, row_work, slice_work=0.0, first=0, n_beside=1):
    slicing = Slicing(
        lambda rows, task: row_work, lambda rows, task: slice_work, lambda rows: n_beside
    )
    return slicing.cut(Long(n_rows, first), on_rows.NodeTask(0))


@pytest.mark.parametrize("first", [0, 17])
@pytest.mark.parametrize("n_rows", [0, 1, 5, 1000, 30_001, 3_000_000])
def test_every_row_is_in_one_slice(n_rows, first):
    found = cuts(n_rows, row_work=500.0, first=first)
    if len(found) == 1:
        assert found[0].span is None
        return
    assert found[0].span[0] == first and found[-1].span[1] == first + n_rows
    assert all(own.span[1] == next_.span[0] for own, next_ in zip(found, found[1:], strict=False))
    sizes = [own.span[1] - own.span[0] for own in found]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("grains", "n_slices"), [(0.1, 1), (1.3, 1), (2, 2), (3.2, 4), (20, 16), (31, 32), (900, 32)]
)
def test_a_slice_is_about_a_grain_of_work(grains, n_slices):
    assert len(cuts(60_000, grains * GRAIN / 60_000)) == n_slices


def test_slices_that_cost_much_themselves_are_fewer():
    work = 40 * GRAIN / 60_000
    found = [len(cuts(60_000, work, share * GRAIN)) for share in (0.0, 0.5, 2.0, 100.0)]
    assert found == [32, 8, 2, 1]


def test_many_tasks_for_the_same_rows_are_cut_into_fewer_slices():
    work = 900 * GRAIN / 60_000
    assert [len(cuts(60_000, work, n_beside=n)) for n in (1, 2, 16, 20, 500)] == [32, 16, 2, 1, 1]


def test_slices_never_have_too_many_rows():
    """What a pass keeps of its rows must not grow with the table."""
    found = cuts(10_000_000, row_work=1e-6)
    assert max(own.span[1] - own.span[0] for own in found) <= 1 << 16


# --- groups --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [SquaredError(), MulticlassLogLoss(3)])
def test_the_sums_of_a_fold_are_those_of_its_rows(loss):
    rows, task = some_rows(loss.n_outputs), passes(loss)["fold_sums"]._replace(n_folds=3)
    found = on_rows.fold_sums(rows, task)
    for fold in range(3):
        own = some_rows(loss.n_outputs)
        own.weight[rows.fold != fold] = 0.0
        alone = on_rows.model_sums(own, on_rows.ModelTask(3, task.model, loss, with_hessian=True))
        np.testing.assert_allclose(found.loss[fold], alone.loss, rtol=1e-11)
        np.testing.assert_allclose(found.gradient[fold], alone.gradient, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", [SquaredError(), BinaryLogLoss(), MulticlassLogLoss(3)])
def test_groups_of_one_row_scatter_as_rows_do(monkeypatch, loss):
    rows, task = some_rows(loss.n_outputs), passes(loss)["row_scatter"]
    rows.group = np.random.default_rng(3).permutation(N_ROWS)
    monkeypatch.setattr("glassleaf.rows.passes.scatter._CHUNK_ROWS", 100)
    by_group, by_row = on_rows.group_scatter(rows, task), on_rows.row_scatter(rows, task)
    np.testing.assert_allclose(by_group.products, by_row.products, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(by_group.count, by_row.count)
