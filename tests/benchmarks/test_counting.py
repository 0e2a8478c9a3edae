"""Numbers of other people's models, counted by hand."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from benchmarks import counting


def test_a_linear_model_has_an_intercept_and_what_is_not_zero():
    assert counting.linear(1.0, [0.0, 0.0]) == 1
    assert counting.linear([1.0], [[2.0, 0.0, -1.0]]) == 3


def test_fills_count_where_the_column_is_used():
    assert counting.linear(1.0, [2.0, 0.0, 3.0], has_fill=[True, True]) == 4


def test_every_class_has_its_own_numbers_but_one_fill():
    assert counting.linear([1.0, 2.0], [[1.0, 0.0], [1.0, 1.0]], has_fill=[True, False]) == 6


def test_a_tree_has_thresholds_and_values():
    assert counting.constant_tree(1) == 1
    assert counting.constant_tree(3) == 5
    assert counting.constant_tree(3, values=7) == 23
    assert counting.boosted_trees([1, 3], intercepts=2) == 8


def test_points_of_thresholds_have_two_numbers_and_those_of_categories_one():
    assert counting.point_score(np.array([True, False, False])) == 5


def test_bins_have_values_and_the_edges_between_them():
    assert counting.steps([1.0]) == 1
    assert counting.steps([1.0, 2.0, 1.0]) == 5
    assert counting.steps(np.arange(6).reshape(3, 2)) == 8


def test_equal_neighbors_are_one_bin():
    assert counting.steps([1.0, 1.0, 2.0, 2.0]) == 3


def test_groups_name_all_categories_but_those_of_the_largest():
    assert counting.groups([0.1, 0.2, 0.3], sizes=[2, 4, 1]) == 6


def test_cells_of_a_surface_and_edges_of_its_numeric_axes():
    cells = np.arange(6).reshape(2, 3)
    assert counting.surface(cells, has_edges=[True, True]) == 9
    assert counting.surface(cells, has_edges=[True, False]) == 7
    assert counting.surface(np.ones((2, 3)), has_edges=[True, True]) == 1
    assert counting.surface(np.arange(24).reshape(2, 3, 4), has_edges=[True, True]) == 27


def test_a_boosting_machine_is_an_intercept_and_its_terms():
    missing, unseen = 0.5, 0.0
    model = SimpleNamespace(
        intercept_=1.0,
        feature_types_in_=["continuous", "nominal", "continuous"],
        term_features_=[(0,), (1,), (2,), (0, 1)],
        term_scores_=[
            np.array([missing, 1, 2, 3, unseen]),  # 3 values, 2 edges, missing
            np.array([0, 1, 2, unseen]),  # 2 values
            np.array([0, 5, 5, unseen]),  # 1 value
            np.pad(np.arange(4).reshape(2, 2), 1),  # 4 values, 1 edge
        ],
        bin_weights_=[np.array([7.0]), np.zeros(4), np.zeros(4), np.zeros((4, 4))],
    )
    assert counting.boosting_machine(model) == 1 + 6 + 2 + 1 + 5


def test_cubist_is_counted_from_its_file():
    text = "\n".join(
        [
            'id="Cubist 2.07 GPL Edition 2026-11-15"',
            'entries="1"',
            'rules="2"',
            'conds="2" cover="10" mean="1" loval="0" hival="2" esterr="0.1"',
            'type="2" att="x0" cut="3.5" result="<="',
            'type="3" att="x1" elts="c0","c2"',
            'coeff="1.5" att="x0" coeff="-2" att="x2" coeff="0.5"',
            'conds="1" cover="10" mean="1" loval="0" hival="2" esterr="0.1"',
            'type="2" att="x0" cut="3.5" result=">"',
            'coeff="7"',
        ]
    )
    assert counting.cubist_rules(text) == 1 + 2 + 3 + 1 + 1


def test_pilot_shares_the_slopes_above_a_split():
    nodes = pd.DataFrame(
        {
            "node_type": ["lin", "plin", "con", "pconc", "con", "con"],
            "feature_index": [0, 1, np.nan, 2, np.nan, np.nan],
            "pivot_values": [None, None, None, np.array([0.0, 1.0, 3.0]), None, None],
        }
    )
    assert counting.pilot_tree(nodes, n_categories=[0, 0, 4]) == 1 + 3 + 1 + 1 + 1 + 1
    assert counting.pilot_tree(nodes, [0, 0, 4], has_fill=[True, False, False]) == 9
