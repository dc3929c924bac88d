"""Commands, options and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from autonmf.cli import bench_app, options
from autonmf.cli.console import tolerate_encoding
from autonmf.cli.failure import BAD_DATA, BAD_USAGE, INTERRUPTED, Failure, say
from autonmf.cli.grouping import grouped
from autonmf.cli.settings import Input, Look, Output, Page, Reproduction, Search

app = typer.Typer(
    name="autonmf",
    help="Nonnegative matrix factorisation that finds the number of components by itself.",
    epilog="Begin with: autonmf demo. Exit codes: 0 done, 1 something is wrong with the data or the disk, "
    "2 with the command, 130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # click's, or typer's own copy of it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0: done; 1: something is wrong with the data or the disk; 2: with the command; 130: interrupted.
    """
    try:
        tolerate_encoding()
        result = app(arguments, prog_name="autonmf", standalone_mode=False)
        sys.stdout.flush()
    except Failure as failure:
        say("error", str(failure))
        return failure.code
    except (KeyboardInterrupt, typer.Abort):
        result = INTERRUPTED
    except OSError as error:  # the output stream: a full disk, or `autonmf info | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            say("error", f"cannot {_attempt(error)}: {error.strerror or error}")
        return BAD_DATA
    except Exception as error:
        if not isinstance(error, _UsageError):
            raise
        say("error", _usage(error))
        return BAD_USAGE
    if result == INTERRUPTED:
        say("error", "interrupted")
    return result if isinstance(result, int) else 0


def _attempt(error: OSError) -> str:
    return "write the output" if error.filename is None else f"use {error.filename}"


def _usage(error: Exception) -> str:
    """What is wrong with the command, and where to read on."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "autonmf"
    message = str(getattr(error, "format_message", error.__str__)()).rstrip(".").replace("Value error, ", "")
    stop = "" if message.endswith("?") else "."
    return f"{message}{stop} Try '{command} --help'."


def _version(wanted: bool) -> None:
    if wanted:
        import autonmf

        print(f"autonmf {autonmf.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def demo(seed: options.Seed = 0, json: options.PlainJson = False) -> None:
    """Find the rank of two matrices whose rank is known. Takes a few seconds."""
    from autonmf.cli.demo import run

    run(seed, json)


@app.command(epilog="Example: autonmf fit counts.csv --out results")
@grouped
def fit(source: Input, search: Search, output: Output) -> None:
    """Factorise the matrix in FILE and find its rank."""
    from autonmf.cli.fit import run

    run(source, search, output)


@app.command(epilog="Example: autonmf report counts.csv --out counts.html")
@grouped
def report(source: Input, search: Search, look: Look, page: Page) -> None:
    """Factorise the matrix in FILE and write an interactive page about it."""
    from autonmf.cli.report import run

    run(source, search, look, page)


app.add_typer(bench_app.app, name="bench")


@app.command(epilog="Example: autonmf reproduce all --quick --out reproduction")
@grouped
def reproduce(wanted: Reproduction) -> None:
    """Run the paper's experiments again, and write a page with its numbers beside ours."""
    from autonmf.cli.reproduce import run

    run(wanted)


@app.command()
def info(json: options.PlainJson = False) -> None:
    """Show the versions and the computer that results depend on."""
    from autonmf.cli.info import run

    run(json)
