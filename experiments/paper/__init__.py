"""The paper's experiments (Section VI): see `python -m experiments.paper --help`."""

from experiments.paper.experiment import Scale
from experiments.paper.run import EXPERIMENTS, Report, reproduce

__all__ = ["EXPERIMENTS", "Report", "Scale", "reproduce"]
