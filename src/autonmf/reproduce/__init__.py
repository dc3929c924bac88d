"""The paper's experiments (Section VI) by one command: see `autonmf reproduce --help`."""

from autonmf.reproduce.run import EXPERIMENTS, Report, reproduce
from autonmf.reproduce.scale import Scale

__all__ = ["EXPERIMENTS", "Report", "Scale", "reproduce"]
