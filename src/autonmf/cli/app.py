"""The commands and their exit codes."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from autonmf.cli.arguments import Input, JsonOnly, Look, Output, Page, Search, Seed, expand_groups
from autonmf.cli.console import BAD_DATA, BAD_USAGE, INTERRUPTED, Failure, say


class _PlainFlags:
    """Shows flags in the help without a value type."""

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class Command(_PlainFlags, TyperCommand):
    """A command."""


class Group(_PlainFlags, TyperGroup):
    """A group of commands."""


app = typer.Typer(
    name="autonmf",
    cls=Group,
    help="Nonnegative matrix factorisation that finds the number of components by itself.",
    epilog="Try: autonmf demo. Exit codes: 0 success, 1 problem with the data or the disk, "
    "2 problem with the command, 130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # click's, or typer's own copy of it


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; errors are printed in one line."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # for characters that its encoding lacks
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
            attempt = "write the output" if error.filename is None else f"use {error.filename}"
            say("error", f"cannot {attempt}: {error.strerror or error}")
        return BAD_DATA
    except Exception as error:
        if not isinstance(error, _UsageError):
            raise
        say("error", _describe_usage(error))
        return BAD_USAGE
    if result == INTERRUPTED:
        say("error", "interrupted")
    return result if isinstance(result, int) else 0


def _describe_usage(error: Exception) -> str:
    """What is wrong with the command, and how to see its help."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "autonmf"
    message = str(getattr(error, "format_message", error.__str__)()).rstrip(".").replace("Value error, ", "")
    stop = "" if message.endswith("?") else "."
    return f"{message}{stop} Try '{command} --help'."


def _print_version(wanted: bool) -> None:
    if wanted:
        import autonmf

        print(f"autonmf {autonmf.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command(cls=Command)
def demo(seed: Seed = 0, json: JsonOnly = False) -> None:
    """Find the rank of two matrices of known rank. Takes a few seconds."""
    from autonmf.cli.demo import run_demo

    run_demo(seed, json)


@app.command(cls=Command, epilog="Example: autonmf fit counts.csv --out results")
@expand_groups
def fit(source: Input, search: Search, output: Output) -> None:
    """Factorise the matrix in FILE and find its rank."""
    from autonmf.cli.fit import run_fit

    run_fit(source, search, output)


@app.command(cls=Command, epilog="Example: autonmf report counts.csv --out counts.html")
@expand_groups
def report(source: Input, search: Search, look: Look, page: Page) -> None:
    """Factorise the matrix in FILE and write an interactive page about the result."""
    from autonmf.cli.report import run_report

    run_report(source, search, look, page)


@app.command(cls=Command)
def info(json: JsonOnly = False) -> None:
    """Show versions and hardware, for bug reports."""
    from autonmf.cli.info import run_info

    run_info(json)
