"""`TreeDisplay`: boxes for branches, with colours that stay with them."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from autonmf import ComponentTree, rank_path
from autonmf.plotting import TreeDisplay, branch_colors


@pytest.fixture(scope="module")
def tree(low_rank: np.ndarray) -> ComponentTree:
    return rank_path(low_rank, max_rank=6, random_state=0).tree()


def test_every_rank_is_covered_by_its_branches(tree: ComponentTree) -> None:
    display = TreeDisplay.from_tree(tree)
    for rank in range(1, 7):
        here = sorted(
            (box for box in display.boxes if box.ranks[0] <= rank <= box.ranks[1]), key=lambda b: b.leaves
        )
        assert {box.branch for box in here} == set(range(rank))
        rows = [row for box in here for row in range(box.leaves[0], box.leaves[1] + 1)]
        assert rows == list(range(6)), "each leaf once, and those of a branch together"


def test_children_lie_within_their_parent(tree: ComponentTree) -> None:
    display = TreeDisplay.from_tree(tree)

    def rows(rank: int, component: int) -> set[int]:
        branch = tree.at_rank(rank)["branch"][component]
        (box,) = (b for b in display.boxes if b.branch == branch and b.ranks[0] <= rank <= b.ranks[1])
        return set(range(box.leaves[0], box.leaves[1] + 1))

    for rank in range(2, 7):
        for component, parent in enumerate(tree.at_rank(rank)["parent"]):
            assert rows(rank, component) <= rows(rank - 1, int(parent))


def test_boxes_have_the_colour_of_their_branch(tree: ComponentTree) -> None:
    display = TreeDisplay.from_tree(tree).plot()
    drawn = [p for p in display.ax_.patches if isinstance(p, Rectangle)]
    assert [to_hex(p.get_facecolor()) for p in drawn] == [
        branch_colors(6)[box.branch].lower() for box in display.boxes
    ]
    assert len(set(branch_colors(25))) == 25
    assert branch_colors(9) == branch_colors(25)[:9]


def test_leaves_are_named_by_their_top_features(tree: ComponentTree) -> None:
    names = [f"word{i}" for i in range(40)]
    display = TreeDisplay.from_tree(tree, feature_names=names, n_top=2).plot()
    shown = {label.get_text() for label in display.ax_.get_yticklabels()}
    tops = [np.argsort(-row)[:2] for row in tree.components[-1]]
    assert shown == {f"word{i} word{j}" for i, j in tops}
    assert any("word" in text.get_text() for text in display.ax_.texts), "and boxes, where there is room"


def test_names_lie_within_their_boxes(tree: ComponentTree) -> None:
    """Also where the names beside the tree are long and leave less width for it."""
    names = [f"DEL/REPEATS/{i}" for i in range(40)]
    display = TreeDisplay.from_tree(tree, feature_names=names).plot()
    renderer = display.figure_.canvas.get_renderer()
    display.figure_.draw(renderer)
    assert display.ax_.texts
    for text in display.ax_.texts:
        box, room = text.get_window_extent(renderer), text.get_clip_box()  # the rectangle
        assert box.x1 <= room.x1 + 1
        assert room.y0 - 1 <= box.y0
        assert box.y1 <= room.y1 + 1


def test_labels_of_the_caller(tree: ComponentTree) -> None:
    display = TreeDisplay.from_tree(tree, labels={3: ["a", "b", "c"], 6: list("uvwxyz")}).plot()
    assert sorted(label.get_text() for label in display.ax_.get_yticklabels()) == list("uvwxyz")
    assert {text.get_text() for text in display.ax_.texts} <= {"a", "b", "c"}


def test_a_part_of_the_tree(tree: ComponentTree) -> None:
    display = tree.plot(max_rank=3)
    assert display.ranks.tolist() == [1, 2, 3]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] != []
    assert display.ax_.get_xlabel() == "rank"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_rank": 0}, "max_rank=0 is below the smallest rank of the tree, 1"),
        ({"labels": {9: ["a"] * 9}}, "labels has rank 9, the tree has 1, 2, 3"),
        ({"labels": {2: ["a"]}}, r"labels\[2\] must have 2 names"),
        ({"feature_names": ["a"]}, "feature_names must have 40 names"),
        ({"feature_names": ["a"] * 40, "n_top": 0}, "n_top must be at least 1"),
    ],
)
def test_bad_arguments(tree: ComponentTree, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tree.plot(**options)


def test_one_component() -> None:
    display = rank_path(np.ones((4, 3)), max_rank=1, random_state=0).tree().plot()
    assert len(display.boxes) == 1
