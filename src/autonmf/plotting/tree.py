"""`TreeDisplay`: the components of a path from rank one up, with a colour per branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from autonmf._types import Array
from autonmf.plotting.presentation import check_names, check_top, score_features, top_features
from autonmf.plotting.style import Display, axes_or_new, branch_colors, open_frame, whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW, COLUMN = 0.3, 0.62
"""Height of a leaf and width of a rank in inches."""

CHARACTER, LINE = 0.072, 0.135
"""Width of a character and height of a line of small text, in inches."""

FADED = 0.4
"""Opacity of a box, on which text must be readable."""


class Box(NamedTuple):
    """A branch between two splits: from the rank at which it begins to the last one before it splits."""

    branch: int
    component: int  # at the first of these ranks
    ranks: tuple[int, int]
    leaves: tuple[int, int]  # first and last row


class TreeDisplay(Display):
    """The tree of components: each branch is a box from the rank at which it begins, and splits to the right.

    Parameters
    ----------
    rank, parent, branch : arrays of int
        Columns of a `ComponentTree`: an entry per component of every rank, by increasing rank.
    labels : mapping of int to sequence of str, optional
        Names of the components of some ranks. The names at the largest rank are written beside the tree, the
        others in the boxes that begin at their rank, if there is room.

    Attributes
    ----------
    boxes : list of Box
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from autonmf import rank_path
    >>> from autonmf.datasets import make_low_rank
    >>> from autonmf.plotting import TreeDisplay
    >>> X, _, _ = make_low_rank(60, 40, rank=3, random_state=0)
    >>> display = TreeDisplay.from_tree(rank_path(X, max_rank=3, random_state=0).tree())
    >>> len({box.branch for box in display.boxes})
    3
    """

    def __init__(
        self,
        rank: Array,
        parent: Array,
        branch: Array,
        *,
        labels: Mapping[int, Sequence[str]] | None = None,
    ) -> None:
        self.ranks = np.unique(rank)
        at = [np.flatnonzero(rank == each) for each in self.ranks]
        self._branches = [branch[rows] for rows in at]
        self._parents = [parent[rows] for rows in at]
        self.labels = dict(labels or {})
        for each, names in self.labels.items():
            if each not in self.ranks:
                raise ValueError(f"labels has rank {each}, the tree has {', '.join(map(str, self.ranks))}")
            check_names(names, int(each), f"labels[{each}]", "components")
        self.boxes = self._make_boxes()

    @classmethod
    def from_tree(
        cls,
        tree: Any,
        *,
        feature_names: Sequence[str] | None = None,
        labels: Mapping[int, Sequence[str]] | None = None,
        n_top: int = 3,
        top_by: str = "weight",
        max_rank: int | None = None,
    ) -> Self:
        """The display of a `ComponentTree`, up to ``max_rank`` if that is given.

        With ``feature_names``, components without ``labels`` are named by their ``n_top`` top features, as in
        `autonmf.adapters.text.top_words`.
        """
        shown = tree.rank <= (tree.ranks[-1] if max_rank is None else max_rank)
        if not shown.any():
            raise ValueError(f"max_rank={max_rank} is below the smallest rank of the tree, {tree.ranks[0]}")
        named: dict[int, Sequence[str]] = {}
        if feature_names is not None:
            check_top(n_top, top_by)
            names = check_names(feature_names, tree.components[0].shape[1], "feature_names", "features") or ()
            for H in tree.components:
                if len(H) <= tree.rank[shown][-1]:
                    tops = (top_features(scores, n_top) for scores in score_features(H, top_by))
                    named[len(H)] = [" ".join(names[i] for i in top) for top in tops]
        columns = (getattr(tree, name)[shown] for name in ("rank", "parent", "branch"))
        return cls(*columns, labels=named | dict(labels or {}))

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the tree in ``ax`` or a new figure."""
        from matplotlib.colors import to_rgba
        from matplotlib.patches import Rectangle

        count = len(self._branches[-1])
        beside = max(1.2, CHARACTER * max(len(name) for name in self._leaf_names()))
        size = max(4.5, 1.2 + COLUMN * len(self.ranks) + beside), 0.9 + ROW * count
        self.ax_ = ax = axes_or_new(ax, size)
        colors = branch_colors(count)
        edges = np.append(self.ranks, self.ranks[-1] + 1) - 0.5
        ax.set_xlim(edges[0], edges[-1])
        ax.set_ylim(count - 0.5, -0.5)
        whole_numbers(ax.xaxis)
        ax.set_xlabel("rank")
        open_frame(ax)
        ax.spines[["left", "bottom"]].set_visible(False)
        self._name_leaves()
        ax.figure.canvas.figure.draw_without_rendering()  # the names leave less width for the tree
        inches = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
        for box in self.boxes:
            first, last = (int(np.searchsorted(self.ranks, rank)) for rank in box.ranks)
            left, right = edges[first], edges[last + 1]
            top, bottom = box.leaves[0] - 0.5, box.leaves[1] + 0.5
            patch = Rectangle(
                (left, top), right - left, bottom - top, facecolor=to_rgba(colors[box.branch], FADED),
                edgecolor=ax.get_facecolor(), linewidth=1.5,
            )  # fmt: skip
            ax.add_patch(patch)
            room = (
                inches.width * (right - left) / (edges[-1] - edges[0]),
                inches.height * (bottom - top) / count,
            )
            text = self._text(box, *room)
            if text and first < len(self.ranks) - 1:  # the last names are written beside the tree
                ax.text(left + 0.06, (top + bottom) / 2, text, va="center", fontsize="small", clip_on=True,
                        clip_path=patch, parse_math=False)  # fmt: skip
        return self

    def _text(self, box: Box, width: float, height: float) -> str:
        """The part of the name of a box that fits into it, in whole words."""
        if box.ranks[0] not in self.labels:
            return ""
        lines = wrap(str(self.labels[box.ranks[0]][box.component]), max(int(width / CHARACTER) - 1, 1),
                     break_long_words=False)  # fmt: skip
        fit = [line for line in lines[: int(height / LINE)] if len(line) * CHARACTER <= width]
        return "\n".join(fit)

    def _name_leaves(self) -> None:
        """Write the names at the largest rank beside the tree."""
        ax, names = self.ax_, self._leaf_names()
        ax.yaxis.tick_right()
        ax.tick_params(axis="y", length=0)
        order = np.argsort(self._rows)
        ax.set_yticks(
            np.arange(len(names)), [names[index] for index in order], fontsize="small", parse_math=False
        )

    def _leaf_names(self) -> Sequence[str]:
        last = int(self.ranks[-1])
        return self.labels.get(last) or [str(index + 1) for index in range(last)]

    def _make_boxes(self) -> list[Box]:
        """Compute the boxes; the leaves of a branch are in consecutive rows."""
        children = [
            [np.flatnonzero(parents == index) for index in range(int(rank))]
            for rank, parents in zip(self.ranks[:-1], self._parents[1:], strict=True)
        ]

        def descend(level: int, index: int) -> list[int]:
            if level == len(children):
                return [index]
            below = children[level][index]
            own = self._branches[level][index]
            ordered = sorted(below, key=lambda child: (self._branches[level + 1][child] != own, child))
            return [leaf for child in ordered for leaf in descend(level + 1, int(child))]

        leaves = [leaf for root in np.argsort(self._branches[0]) for leaf in descend(0, int(root))]
        self._rows = rows = np.argsort(leaves)
        spans = [np.stack([rows, rows], axis=1)]
        for level in reversed(range(len(children))):
            below = spans[0]
            spans.insert(0, np.array([[below[c, 0].min(), below[c, 1].max()] for c in children[level]]))
        boxes: dict[tuple[int, int, int], Box] = {}
        for rank, branches, places in zip(self.ranks, self._branches, spans, strict=True):
            for index, (branch, (low, high)) in enumerate(zip(branches, places, strict=True)):
                key = int(branch), int(low), int(high)
                first = boxes.get(key, Box(key[0], index, (int(rank), int(rank)), key[1:]))
                boxes[key] = first._replace(ranks=(first.ranks[0], int(rank)))
        return list(boxes.values())
