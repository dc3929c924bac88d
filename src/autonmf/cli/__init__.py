"""The command line: `autonmf demo`, `autonmf fit FILE` and `autonmf info`.

Nothing heavy is imported before a command needs it, so that `autonmf --help` answers at once.
"""

from autonmf.cli.app import main

__all__ = ["main"]
