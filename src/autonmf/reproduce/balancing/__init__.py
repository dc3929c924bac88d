"""Section VI-D: S-iPALM against iPALM along the path."""

from autonmf.reproduce.balancing.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
