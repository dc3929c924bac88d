"""What the command line prints: results on the standard output, messages on the standard error stream."""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from autonmf.io import ReadError

BAD_DATA = 1
BAD_USAGE = 2
INTERRUPTED = 130

WIDTH = 100
"""Maximum width of a paragraph, and its width without a terminal."""


class Failure(Exception):
    """An error for the user: one line and an exit code."""

    def __init__(self, message: str, code: int = BAD_DATA) -> None:
        super().__init__(" ".join(message.split()))
        self.code = code


@contextmanager
def explain_errors(attempt: str) -> Iterator[None]:
    """Turn errors from bad input or a bad disk into a `Failure`. Other exceptions are bugs and pass."""
    try:
        yield
    except ReadError as error:
        raise Failure(str(error)) from error
    except MemoryError as error:
        raise Failure(f"cannot {attempt}: not enough memory. Use fewer rows or a sparse file.") from error
    except OSError as error:
        raise Failure(f"cannot {attempt}: {error.strerror or error}") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        raise Failure(f"cannot {attempt}: {str(error) or type(error).__name__}") from error


@contextmanager
def print_warnings() -> Iterator[None]:
    """Collect Python's warnings and print each once at the end, after any progress bar."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        say("warning", message)


def say(kind: str, message: str) -> None:
    """Print one line on the standard error stream, such as ``error: what happened``."""
    print(f"{kind}: {' '.join(message.split())}", file=sys.stderr, flush=True)


def print_json(data: Any) -> None:
    """Print data as JSON; NaN and infinity become null."""
    print(json.dumps(_drop_infinite(data), indent=2, allow_nan=False))


def _drop_infinite(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _drop_infinite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_drop_infinite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def print_paragraph(text: str) -> None:
    """Print text wrapped to the terminal, followed by an empty line."""
    terminal = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
    print(textwrap.fill(text, min(terminal, WIDTH), break_long_words=False, break_on_hyphens=False))
    print()
