"""The command line: `autonmf demo`, `fit`, `report` and `info` (docs/cli.md).

It needs typer and rich, the extra ``autonmf[cli]``. Other libraries are imported by the commands that need
them, so that `autonmf --help` is fast.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0: success; 1: a problem with the data or the disk; 2: a problem with the command; 130: interrupted.
    """
    try:
        from autonmf.cli import app

        return app.run(arguments)
    except ImportError as error:
        if error.name not in ("click", "rich", "typer"):
            raise
        print(f'error: the command line needs {error.name}: pip install "autonmf[cli]"', file=sys.stderr)
        return 1
    except KeyboardInterrupt:  # at the few moments when no command handles it
        print("error: interrupted", file=sys.stderr)
        return 130
