"""Dask against memory, and two workers against one: time, and the bytes that travel.

    python -m experiments dask-scaling            # 200,000 x 1,000, the whole job
    python -m experiments dask-scaling --quick    # 20,000 x 200

X is drawn on the workers, chunk by chunk, from seeds; it never travels. Every figure is one run of
``AutoNMF(random_state=0).fit`` in fresh processes, X in memory beforehand. A worker has one thread; the run
in memory has as many as there are processors. Bytes are counted on the client (programs sent, results
fetched) and by the workers (what they send to each other), and compared with the formulas of docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.core import Array
from experiments.shared import ROOT

RANK = 10


def block(start: int, rows: int, columns: int, dtype: str) -> Array:
    """Rows of a matrix of rank 10 with noise; each depends on its number only."""
    V = np.random.default_rng(0).standard_normal((columns, RANK)).clip(0)
    rng = np.random.default_rng([1, start])
    U = rng.standard_normal((rows, RANK)).clip(0)
    X: Array = (U @ V.T + 0.1 * rng.random((rows, columns))).astype(dtype)
    return X


def in_memory(n: int, m: int, chunk: int, dtype: str) -> Array:
    X = np.empty((n, m), dtype=dtype)
    for start in range(0, n, chunk):
        X[start : start + chunk] = block(start, min(chunk, n - start), m, dtype)
    return X


def on_workers(n: int, m: int, chunk: int, dtype: str) -> Any:
    import dask.array as da
    from dask.delayed import delayed

    parts = [
        da.from_delayed(
            delayed(block)(start, min(chunk, n - start), m, dtype), (min(chunk, n - start), m), dtype=dtype
        )
        for start in range(0, n, chunk)
    ]
    return da.concatenate(parts)


class Counted:
    """Counts what the client sends and fetches, and what the formulas say of iterations."""

    def __init__(self) -> None:
        from distributed.protocol.serialize import serialize_bytelist

        from autonmf.distributed import rows

        self.rounds, self.sent, self.fetched = 0, 0, 0
        self.iterations = {"rounds": 0, "down": 0, "up": 0, "formula_down": 0, "formula_up": 0}
        original = rows.Workers.run_on_blocks

        def run_on_blocks(layout: Any, program: Any, *args: Any, **options: Any) -> Any:
            pieces, results = original(layout, program, *args, **options)
            self.rounds += 1
            self.sent += sum(map(len, serialize_bytelist(program)))
            self.fetched += sum(np.asarray(part).nbytes for result in results for part in result)
            if len(results[0]) == 2 and any("_sweep" in str(step.function) for step in program.steps):
                self._add_iteration(rows._size(program), results)
            return pieces, results

        rows.Workers.run_on_blocks = run_on_blocks  # type: ignore[assignment,method-assign]

    def _add_iteration(self, down: int, results: list[Any]) -> None:
        """A block is sent w x r and r x r and returns as much; w is m, or the width of the compression."""
        product, gram = (np.asarray(part) for part in results[0])
        blocks, r, width = len(results), len(gram), product.size // len(gram)
        self.iterations["rounds"] += 1
        self.iterations["down"] += blocks * down
        self.iterations["up"] += sum(np.asarray(part).nbytes for result in results for part in result)
        self.iterations["formula_down"] += blocks * (8 * width * r + gram.itemsize * r * r)
        self.iterations["formula_up"] += blocks * gram.itemsize * (width * r + r * r)


def between_workers(client: Any) -> int:
    """Bytes that workers have sent to each other so far."""

    def sent(dask_worker: Any) -> int:
        return int(dask_worker.transfer_outgoing_bytes_total)

    return sum(client.run(sent).values())


def measure(case: str, n: int, m: int, chunk: int, dtype: str, max_rank: int | None) -> dict[str, Any]:
    from autonmf import AutoNMF

    model = AutoNMF(random_state=0, max_rank=max_rank)
    if case == "memory":
        X = in_memory(n, m, chunk, dtype)
        began = time.perf_counter()
        model.fit(X)
        row: dict[str, Any] = {"seconds": time.perf_counter() - began}
    else:
        from distributed import LocalCluster, wait

        counted = Counted()
        n_workers = int(case.split()[0])
        options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": ":0"}
        with LocalCluster(**options, silence_logs=50) as cluster, cluster.get_client() as client:
            X = on_workers(n, m, chunk, dtype).persist()
            wait(X)
            before = between_workers(client)
            began = time.perf_counter()
            model.fit(X)
            row = {"seconds": time.perf_counter() - began}
            row |= {"between_workers": between_workers(client) - before}
        row |= {"rounds": counted.rounds, "sent": counted.sent, "fetched": counted.fetched}
        row |= {"iterations": counted.iterations}
    row |= {"rank": model.n_components_, "n_iter": model.n_iter_, "error": model.reconstruction_err_}
    return row | {"engine": model.path_.settings["engine"], "losses": model.path_.relative_losses.tolist()}


def in_process(case: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """One case in processes of its own; memory gets as many BLAS threads as there are workers at most."""
    threads = str(os.cpu_count()) if case == "memory" else "1"
    environment = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
    command = [
        sys.executable,
        "-m",
        "experiments",
        "dask-scaling",
        "--case",
        case,
        "--n",
        str(arguments.n),
        "--m",
        str(arguments.m),
    ]
    command += ["--chunk", str(arguments.chunk), "--dtype", arguments.dtype]
    command += ["--max-rank", str(arguments.max_rank)] if arguments.max_rank else []
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        "python -m experiments dask-scaling",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--n", type=int, default=200_000)
    parser.add_argument("--m", type=int, default=1_000)
    parser.add_argument("--chunk", type=int, default=0, help="rows of a chunk; default n/8")
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--max-rank", type=int)
    parser.add_argument("--quick", action="store_true", help="20,000 x 200, ranks from 15")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="a JSON file for the figures")
    options = parser.parse_args(arguments)
    if options.quick:
        options.n, options.m, options.max_rank = 20_000, 200, 15
    options.chunk = options.chunk or -(-options.n // 8)
    if options.case:
        shape = options.n, options.m, options.chunk, options.dtype
        print(json.dumps(measure(options.case, *shape, options.max_rank)))
        return
    rows = {case: in_process(case, options) for case in ("memory", "1 worker", "2 workers")}
    report(rows, options)
    if options.out:
        options.out.write_text(json.dumps({"n": options.n, "m": options.m, "cases": rows}, indent=1))


def report(rows: dict[str, dict[str, Any]], arguments: argparse.Namespace) -> None:
    memory, one, two = rows.values()
    print(
        f"{arguments.n} x {arguments.m}, {arguments.dtype}, chunks of {arguments.chunk} rows, {one['engine']}"
    )
    for case, row in rows.items():
        print(f"  {case:10s} {row['seconds']:8.1f} s   rank {row['rank']}   {row['n_iter']} iterations")
    difference = np.abs(np.subtract(memory["losses"], two["losses"])).max()
    same = one["losses"] == two["losses"]
    print(f"  two workers: {one['seconds'] / two['seconds']:.2f} times as fast as one (wanted: 1.3)")
    print(f"  two workers: {two['seconds'] / memory['seconds']:.2f} x the time in memory (wanted: 2 at most)")
    print(f"  losses: within {difference:.1e} of those in memory; one and two workers alike: {same}")
    print(
        f"  travelled: {two['rounds']} rounds, {two['sent'] / 1e6:.2f} MB of programs (once each), "
        f"{two['fetched'] / 1e6:.2f} MB of results, {two['between_workers'] / 1e6:.2f} MB between workers"
    )
    steps = two["iterations"]
    print(
        f"  of these {steps['rounds']} iterations: {steps['down'] / 1e6:.2f} MB sent (formula "
        f"{steps['formula_down'] / 1e6:.2f}), {steps['up'] / 1e6:.2f} MB fetched (formula "
        f"{steps['formula_up'] / 1e6:.2f})"
    )
