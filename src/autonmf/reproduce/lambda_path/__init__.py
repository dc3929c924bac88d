"""Section VI-C: the λ-path, and its time against discrete paths."""

from autonmf.reproduce.lambda_path.experiment import EXPERIMENT

__all__ = ["EXPERIMENT"]
