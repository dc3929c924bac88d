"""`autonmf bench`: its commands."""

from __future__ import annotations

import typer

from autonmf.cli import options
from autonmf.cli.settings import Bench

app = typer.Typer(help="Measure this installation against its peers, side by side.")


@app.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def speed(quick: options.Quick = False, repeats: options.Repeats = 3, out: options.BenchOut = None) -> None:
    """How long a fit takes, beside one of scikit-learn at the rank found."""
    from autonmf.cli.bench import run

    run(Bench.speed, quick, repeats, out)


@app.command()
def kernels(quick: options.Quick = False, out: options.BenchOut = None) -> None:
    """How long one sweep over a factor takes."""
    from autonmf.cli.bench import run

    run(Bench.kernels, quick, 1, out)


@app.command()
def growth(quick: options.Quick = False, repeats: options.Repeats = 3, out: options.BenchOut = None) -> None:
    """How the time of a fit grows with the matrix and with the bound on the rank."""
    from autonmf.cli.bench import run

    run(Bench.growth, quick, repeats, out)


@app.command(epilog="Example: autonmf bench order --families semi,real --methods auto,elbow --out results")
def order(
    families: options.Families = None,
    methods: options.Methods = None,
    seeds: options.Seeds = None,
    quick: options.QuickOrder = False,
    out: options.OrderOut = None,
    fresh: options.Fresh = False,
) -> None:
    """How often each method finds the number of components, on matrices where it is known.

    NAMES and SEEDS have commas between them; options can be repeated, too.
    """
    from autonmf.cli.bench_order import run

    run(families or ["design"], methods, seeds or ["design"], out, quick, fresh)
