"""The command line as a process of its own: streams, exit codes, signals and disks."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from autonmf import cli

COMMAND = [sys.executable, "-m", "autonmf"]
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


def call(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, env=ENVIRONMENT, timeout=60, check=False, **options
    )


def test_streams_are_separate(counts: Path) -> None:
    done = call("fit", counts, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["rank"] == 3
    assert done.stderr.startswith("note: ")


def test_a_bad_file_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00")
    done = call("fit", tmp_path / "x.npy")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_without_typer_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError('not here', name='typer')")
    done = call("info", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == 'error: the command line needs typer: pip install "autonmf[cli]"\n'


def test_the_core_needs_neither_typer_nor_rich(tmp_path: Path) -> None:
    for name in ("typer", "rich", "click"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not here')")
    code = (
        "import numpy as np; from autonmf import AutoNMF, compare_ranks, rank_path, select_rank\n"
        "X = np.random.default_rng(0).random((30, 3)) @ np.random.default_rng(1).random((3, 20))\n"
        "AutoNMF(max_rank=5, verbose=1, random_state=0).fit(X)\n"
        "print(select_rank(rank_path(X, max_rank=5, random_state=0), 'marginal').rank)\n"
        "print(compare_ranks(X, ['bic', 'svht'], max_rank=5, random_state=0, progress=True))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "[AutoNMF] rank" in done.stdout


def test_help_is_light() -> None:
    heavy = "{'numpy', 'scipy', 'sklearn', 'pandas', 'h5py', 'pyarrow'}"
    code = (
        "import sys; from autonmf.cli import main; code = main(['fit', '--help']); "
        f"print(code, sorted({heavy} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "0 []\n"


def test_an_encoding_without_the_letters(tmp_path: Path, low_rank: np.ndarray) -> None:
    np.save(tmp_path / "größe.npy", low_rank)
    environment = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*COMMAND, "fit", tmp_path / "größe.npy"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0
    assert "gr\\xf6\\xdfe.npy: 60 x 40" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for other processes")
def test_interrupted(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((800, 600)))
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "  # nohup ignores it
        f"from autonmf.cli import main; sys.exit(main(['fit', {str(tmp_path / 'x.npy')!r}, "
        f"'--n-starts', '10000', '--out', {str(tmp_path / 'out')!r}]))"
    )
    terminal, end = os.openpty()
    environment = {**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "120", "LINES": "20"}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=end, env=environment
    ) as process:
        os.close(end)
        try:
            shown = until(terminal, rb"start \d+ of 10000, rank ")  # the path is under way
            process.send_signal(signal.SIGINT)
            shown += until(terminal, rb"error: interrupted")
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
            os.close(terminal)
    assert (process.returncode, out) == (130, b"")
    assert b"relative loss" in shown
    assert b"Traceback" not in shown
    assert list((tmp_path / "out").iterdir()) == []


def until(terminal: int, wanted: bytes) -> bytes:
    """What a terminal shows until it shows this."""
    shown, deadline = b"", time.monotonic() + 120
    while not re.search(wanted, shown):
        ready, _, _ = select.select([terminal], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            pytest.fail(f"{wanted!r} did not come; the last was {shown[-200:]!r}")
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # closed at the other end
            pytest.fail(f"the program ended with {shown[-200:]!r}")
    return shown


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits stand in for a full disk")
def test_a_full_disk(counts: Path) -> None:
    import resource

    out = counts.parent / "out"
    # W.npy fits, path.npz does not.
    done = call(
        "fit", counts, "--out", out,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000)),
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"error: cannot write {out}")
    assert "Traceback" not in done.stderr
    assert not [file.name for file in out.iterdir() if file.name.endswith(".part")]
    assert not (out / "summary.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full stands in for a full disk")
def test_a_full_disk_behind_the_output() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "info"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "error: cannot write the output: No space left on device\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder(counts: Path) -> None:
    out = counts.parent / "locked"
    out.mkdir(mode=0o500)
    done = call("fit", counts, "--out", out)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        f"error: cannot write to {out}: Permission denied",
    )


def test_a_folder_that_cannot_be(counts: Path) -> None:
    done = call("fit", counts, "--out", counts / "below" / "a file")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: cannot write to ")


def test_a_closed_pipe() -> None:
    process = subprocess.Popen([*COMMAND, "info"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 1
    assert err == ""


def test_ctrl_c_in_a_callback_of_a_weak_reference_is_not_lost() -> None:
    """Python prints what such a callback raises, and goes on; locks of imports have one."""
    module = {"__name__": "importlib._bootstrap", "sys": sys}
    exec("def cb():\n    return sys._getframe()", module)
    with pytest.raises(KeyboardInterrupt):
        cli._interrupt(signal.SIGINT, sys._getframe())
    cli._interrupt(signal.SIGINT, module["cb"]())  # raises nothing here
    with pytest.raises(KeyboardInterrupt):
        time.sleep(10)


def test_the_handler_of_ctrl_c_is_restored(run, counts: Path) -> None:
    known = signal.getsignal(signal.SIGINT)
    assert run("fit", counts, "--quiet").code == 0
    assert signal.getsignal(signal.SIGINT) is known
