"""`autonmf bench`: its commands."""

from __future__ import annotations

import typer

from autonmf.cli import options
from autonmf.cli.choices import Bench
from autonmf.cli.grouping import grouped
from autonmf.cli.settings import Order, Timing

app = typer.Typer(help="Measure this installation against its peers, side by side.")


@app.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
@grouped
def speed(timing: Timing) -> None:
    """How long a fit takes, beside one of scikit-learn at the known rank."""
    from autonmf.cli.bench import run

    run(Bench.speed, timing)


@app.command()
def kernels(
    quick: options.Quick = False, out: options.BenchOut = None, json: options.PlainJson = False
) -> None:
    """How long one sweep over a factor takes."""
    from autonmf.cli.bench import run

    run(Bench.kernels, Timing(quick=quick, repeats=1, out=out, json=json))


@app.command()
@grouped
def growth(timing: Timing) -> None:
    """How the time of a fit grows with the matrix and with the bound on the rank."""
    from autonmf.cli.bench import run

    run(Bench.growth, timing)


@app.command(epilog="Example: autonmf bench order --families semi,real --methods auto,elbow --out results")
@grouped
def order(order: Order) -> None:
    """How often each method finds the number of components, on matrices where it is known.

    NAMES and SEEDS have commas between them; options can be repeated, too.
    """
    from autonmf.cli.bench_order import run

    run(order)
