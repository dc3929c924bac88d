"""Section VI-F, Table 2: signals."""

from autonmf.reproduce.signals.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
