"""Components as templates of a spectrogram, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from autonmf._types import Array
from autonmf.plotting.canvas import ink_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLOOR = -60.0
"""Decibels: what is quieter is drawn as silence."""


@dataclass(frozen=True)
class Templates:
    """Each component is a column of magnitudes by frequency, in decibels below its maximum."""

    components: Array  # r x m
    frequencies: Array  # m
    label: str = "frequency (Hz)"

    def __post_init__(self) -> None:
        if self.frequencies.shape != (self.components.shape[1],):
            raise ValueError(
                f"frequencies has shape {self.frequencies.shape}, but components have "
                f"{self.components.shape[1]} features: pass one frequency a feature"
            )

    @property
    def decibels(self) -> Array:
        """20 log₁₀ of each component over its maximum, at least FLOOR."""
        peaks = self.components.max(axis=1, keepdims=True)
        relative = self.components / np.where(peaks > 0, peaks, 1.0)
        return np.asarray(20.0 * np.log10(np.maximum(relative, 10.0 ** (FLOOR / 20.0))))

    @property
    def size(self) -> tuple[float, float]:
        return min(max(2.6 + 0.45 * len(self.components), 4.0), 14.0), 4.0

    def draw(self, ax: Axes, titles: list[str], cmap: str | None) -> list[list[Axes]]:
        levels, heard = self.decibels, self.frequencies > 0  # a log axis has no place for zero
        numbers = np.arange(1, len(levels) + 1)
        mesh = ax.pcolormesh(
            numbers, self.frequencies[heard], levels[:, heard].T, cmap=cmap or "magma", vmin=FLOOR, vmax=0.0,
            shading="nearest", rasterized=True,
        )  # fmt: skip
        for edge in numbers[:-1] + 0.5:
            ax.axvline(edge, color=ink_of(ax).quiet, linewidth=0.6)
        self._frequency_axis(ax, levels)
        few = len(levels) <= 12
        labels = [title.removesuffix(" energy").replace(" · ", "\n" if few else " · ") for title in titles]
        ax.set_xticks(numbers, labels, rotation=0 if few else 90, fontsize="small")
        ax.set_xlabel("component and its share of the energy" if "%" in titles[0] else "component")
        ax.figure.colorbar(mesh, ax=ax, label="level (dB)")
        return [[ax]]

    def _frequency_axis(self, ax: Axes, levels: Array) -> None:
        """A log axis from the lowest to the highest frequency that any component has."""
        from matplotlib.ticker import StrMethodFormatter

        loud = self.frequencies[(levels.max(axis=0) > FLOOR) & (self.frequencies > 0)]
        ax.set_yscale("log")
        if loud.size and loud.min() < loud.max():
            ax.set_ylim(loud.min(), loud.max())
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.set_ylabel(self.label)
