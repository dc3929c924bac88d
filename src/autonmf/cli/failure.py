"""What can go wrong, in one line each."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from autonmf.readers import ReadError

BAD_DATA = 1
BAD_USAGE = 2
INTERRUPTED = 130


class Failure(Exception):
    """An end of the program that its user should read about: a line and an exit code."""

    def __init__(self, message: str, code: int = BAD_DATA) -> None:
        super().__init__(" ".join(message.split()))
        self.code = code


@contextmanager
def explained(attempt: str) -> Iterator[None]:
    """Turn what bad input or a bad disk raises into a `Failure`. Other exceptions are bugs and stay."""
    try:
        yield
    except ReadError as error:
        raise Failure(str(error)) from error
    except MemoryError as error:
        raise Failure(
            f"cannot {attempt}: not enough memory. Use fewer rows, float32 or a sparse file."
        ) from error
    except OSError as error:
        raise Failure(f"cannot {attempt}: {error.strerror or error}") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        raise Failure(f"cannot {attempt}: {str(error) or type(error).__name__}") from error


@contextmanager
def warnings_said() -> Iterator[None]:
    """Collect Python's warnings, and say each once when all is done: a progress bar may be in the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        say("warning", message)


def say(kind: str, message: str) -> None:
    """Write one line to the standard error stream, such as ``error: what happened``."""
    print(f"{kind}: {' '.join(message.split())}", file=sys.stderr, flush=True)
