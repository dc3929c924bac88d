"""The command line: `autonmf demo`, `fit`, `report` and `info` (docs/cli.md).

It needs typer and rich, the extra ``autonmf[cli]``. Other libraries are imported by the commands that need
them, so that `autonmf --help` is fast.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer, current_thread, main_thread
from types import FrameType

__all__ = ["main"]

CALLBACKS = {
    ("cb", "_frozen_importlib"),
    ("cb", "importlib._bootstrap"),
    ("remove", "weakref"),
    ("_remove", "_weakrefset"),
}
"""Python's own callbacks of weak references: function and module."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0: success; 1: a problem with the data or the disk; 2: a problem with the command; 130: interrupted.
    """
    try:
        with _interrupts_that_are_not_lost():
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


@contextmanager
def _interrupts_that_are_not_lost() -> Iterator[None]:
    """Ctrl-C in a callback of a weak reference, which Python ignores, is raised a little later."""
    known = signal.getsignal(signal.SIGINT)
    if known is not signal.default_int_handler or current_thread() is not main_thread():
        yield  # somebody handles it otherwise, or ignores it
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, known)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if frame is not None and (frame.f_code.co_name, frame.f_globals.get("__name__")) in CALLBACKS:
        later = Timer(0.01, signal.raise_signal, [number])
        later.daemon = True
        later.start()
    else:
        raise KeyboardInterrupt
