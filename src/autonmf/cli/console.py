"""The standard output stream: tables and paragraphs, plain where nobody looks, and JSON for programs."""

from __future__ import annotations

import io
import json
import math
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 100
"""Columns of a paragraph at most, and of everything where there is no terminal."""


def print_json(data: Any) -> None:
    """Print data as JSON; numbers that JSON has no word for become null."""
    print(json.dumps(_finite(data), indent=2, allow_nan=False))


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def print_paragraph(text: str) -> None:
    """Print text wrapped to the terminal, and an empty line after it."""
    terminal = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
    print(textwrap.fill(text, min(terminal, WIDTH), break_long_words=False, break_on_hyphens=False))
    print()


def print_table(table: Table, width: int = WIDTH) -> None:
    """Print a table, in ASCII and without escape codes where there is no terminal."""
    from rich.console import Console

    terminal = Console()
    if terminal.is_terminal:
        terminal.print(table)
        return
    buffer = io.StringIO()
    Console(file=buffer, width=width, force_terminal=False, no_color=True).print(table)
    print("\n".join(line.rstrip() for line in buffer.getvalue().replace("─", "-").splitlines()))


def tolerate_encoding() -> None:
    """Write what a stream's encoding lacks as an escape instead of failing on it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
