"""Section VI-B: PALM, iPALM, S-iPALM and PASM from one start, at one λ."""

from autonmf.reproduce.efficiency.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
