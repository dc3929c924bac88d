"""The command line: `autonmf demo`, `fit`, `report`, `reproduce`, `bench` and `info` (docs/cli.md).

Nothing heavy is imported before a command needs it, so that `autonmf --help` answers at once.
"""

from autonmf.cli.app import main

__all__ = ["main"]
