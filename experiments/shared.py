"""What all experiments share: where files are, what was measured on, tables, messages and exit codes."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from autonmf.datasets.fetching import ENVIRONMENT
from autonmf.datasets.fetching import find as find_in

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments" / "results"
LIBRARIES = ("autonmf", "numpy", "scipy", "scikit-learn", "matplotlib")
BAD_USAGE, INTERRUPTED = 2, 130
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


class Failure(Exception):
    """Ends a command with a message and an exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def run_command(command: Callable[[Sequence[str] | None], None], arguments: Sequence[str] | None) -> int:
    """Run a command and return its exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    try:
        command(arguments)
    except Failure as failure:
        say(f"error: {failure}")
        return failure.code
    except KeyboardInterrupt:
        say("error: interrupted")
        return INTERRUPTED
    except OSError as error:
        say(f"error: cannot use {error.filename}: {error.strerror}" if error.filename else f"error: {error}")
        return 1
    return 0


def say(text: str) -> None:
    """Write a line to the standard error stream."""
    print(text, file=sys.stderr, flush=True)


def print_json(data: Any) -> None:
    """Print data as JSON; numbers that JSON has no word for become null."""
    print(json.dumps(_finite(data), indent=2, allow_nan=False))


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> None:
    """Print columns of text; the first is aligned to the left, the others to the right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    if title:
        print(f"{title}\n")
    for line in lines:
        first, *others = (
            text.ljust(width) if i == 0 else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join([first, *others]).rstrip())
    print()


def markdown_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *lines))


def replace_region(text: str, tables: str) -> str:
    """The text of a page with these tables between its two marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise Failure(f"the page has no region between {BEGIN} and {END}", BAD_USAGE)
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}"


def replace_file(file: Path, text: str) -> None:
    """Write a file; a reader sees the old one or the new one, and a kill leaves one of them whole."""
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


def check_folder(out: Path | None) -> None:
    """Refuse a file where a folder is needed."""
    if out is not None and out.exists() and not out.is_dir():
        raise Failure(f"--out {out} is a file; give a folder", BAD_USAGE)


def data_home() -> Path | None:
    """The folder ``AUTONMF_DATA``, else ``../shared/data`` beside the checkout; None where absent."""
    named = os.environ.get(ENVIRONMENT)
    home = Path(named).expanduser() if named else ROOT.parent / "shared" / "data"
    return home if home.is_dir() else None


def find_file(name: str) -> Path | None:
    """A file of the data home, or None."""
    home = data_home()
    return None if home is None else find_in(name, home)


def need_file(name: str) -> Path:
    """A file of the data home that has to be there."""
    found = find_file(name)
    if found is None:
        raise FileNotFoundError(
            f"no {name} in the data home: set {ENVIRONMENT} to the folder of the benchmark data"
        )
    return found


def machine_facts() -> dict[str, str]:
    """What numbers depend on beside the code: versions and cores."""
    return dict(_facts())


@cache
def _facts() -> tuple[tuple[str, str], ...]:
    import scipy.linalg  # noqa: F401 (loads its BLAS)
    from threadpoolctl import threadpool_info

    from autonmf import kernels

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    blas = ", ".join(dict.fromkeys(f"{pool['internal_api']} {pool['version']}" for pool in pools))
    threads = min([usable, *(pool["num_threads"] for pool in pools)])
    return (
        ("Python", platform.python_version()),
        *((library, installed_version(library)) for library in LIBRARIES),
        *_commit(),
        ("BLAS", blas or "unknown"),
        ("kernels", kernels.BACKEND),
        ("cores", str(usable)),
        ("threads", str(threads)),
        ("system", f"{platform.system()} {platform.machine()}"),
    )


def _commit() -> Iterator[tuple[str, str]]:
    """The commit of the checkout; the installed version only says when it was installed."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    with suppress(OSError, subprocess.CalledProcessError):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        yield "commit", done.stdout.strip()


def installed_version(library: str) -> str:
    """The version of an installed library."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
