"""Section VI-E, Table 1: 24 synthetic configurations."""

from autonmf.reproduce.synthetic.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
