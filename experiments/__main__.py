"""`python -m experiments NAME`: every benchmark and experiment by its name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

COMMANDS = {
    "reproduce": ("paper.__main__", "run the paper's experiments again, beside its own numbers"),
    "order": ("rank_benchmark.__main__", "how often each method finds the number of components"),
    "oracle": ("rank_benchmark.oracle", "whether the truth of each benchmark matrix can be found"),
    "signatures": (
        "rank_benchmark.signatures",
        "mutational signatures that are found, beside four published tools",
    ),
    "consistency": (
        "rank_benchmark.consistency",
        "whether the rank depends on the seed, or on the order of X",
    ),
    "known": ("rank_benchmark.known", "known components: how many others are found, with half of them given"),
    "fit-rule": ("rank_benchmark.fit_rule", "fit the weights of the default rule again"),
    "stability": ("components.stability", "whether the stability of a component tells if it is true"),
    "tree": ("components.tree", "whether the tree of components has the known groups as branches"),
    "speed": ("speed.timings", "how long a fit takes, beside one of scikit-learn at the known rank"),
    "kernels": ("speed.timings", "how long one sweep over a factor takes"),
    "growth": ("speed.timings", "how the time of a fit grows with the matrix and the bound on the rank"),
    "startup": ("speed.startup", "how long `import autonmf` and `autonmf --help` take"),
    "rule-cost": ("speed.rule_cost", "what the default rule costs beside the paper's rule"),
    "path-choices": ("speed.path_choices", "merging against dropping, and how long each rank is iterated"),
    "counts": ("speed.counts", "all ranks of counts beside one fit of scikit-learn; known signatures found"),
    "missing": ("speed.missing", "missing entries: cost, ranks found, accuracy"),
    "peers": ("speed.peers", "all ranks beside one fit at the known rank by each of several packages"),
    "rare": ("speed.rare", "a rare component of a tall matrix: found on a sample of the rows, and on all"),
    "unmixing": ("unmixing", "endmembers and abundances of spectral images beside those of an NMF"),
    "out-of-core": ("speed.out_of_core", "a matrix larger than the memory that a process may use"),
    "dask-scaling": ("speed.dask_scaling", "Dask against memory, and two workers against one"),
    "reliability": ("reliability.__main__", "bad inputs, damaged files, kills, full disks, many fits"),
}
"""By name: the module below `experiments` and what it answers."""

WITHOUT_OPTIONS = ("oracle", "tree", "rule-cost", "path-choices", "counts")


def find_command(name: str) -> Callable[[Sequence[str] | None], Any]:
    """The function that runs a command on its arguments."""
    module = import_module(f"experiments.{COMMANDS[name][0]}")
    if COMMANDS[name][0] == "speed.timings":
        return partial(module.main, name)
    found: Callable[[Sequence[str] | None], Any] = module.main
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the first argument names; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["memory"]:  # of `speed`, in a process of its own
        from experiments.speed.timings import print_memory

        print_memory(given[1:])
        return 0
    if not given or given[0] in ("-h", "--help"):
        print("usage: python -m experiments NAME [OPTIONS]\n")
        for name, (_, about) in COMMANDS.items():
            print(f"  {name:14}{about}")
        print("\npython -m experiments NAME --help shows the options of one.")
        return 0
    if given[0] not in COMMANDS:
        print(f"error: unknown experiment {given[0]!r}: choose from {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    name, *rest = given
    if name in WITHOUT_OPTIONS and set(rest) & {"-h", "--help"}:
        module = import_module(f"experiments.{COMMANDS[name][0]}")
        print(f"usage: python -m experiments {name}\n\n{module.__doc__}")
        return 0
    return find_command(name)(rest) or 0


if __name__ == "__main__":
    sys.exit(main())
