"""Build the sdist and the wheel, and try both as a stranger would: ``python tools/check_release.py``.

Each is installed into a fresh environment, and the sdist once more without a compiler. It takes some minutes
and needs git, a C compiler, the package `build`, and an index for pip.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
IN_SDIST = (
    "LICENSE", "README.md", "pyproject.toml", "setup.py", "src/autonmf/py.typed",
    "src/autonmf/kernels/native.c", "src/autonmf/kernels/native_template.h",
)  # fmt: skip
IN_WHEEL = (
    r"autonmf/py\.typed", r"autonmf/kernels/_native.*\.(so|pyd)", r"autonmf/report/template/page\.html",
    r"autonmf/report/template/style\.css", r"autonmf-.*dist-info/licenses/LICENSE",
)  # fmt: skip
NOT_IN_WHEEL = r"tests/|experiments/|docs/|examples/|src/"
FOR_DEVELOPERS = {"all", "dev", "docs", "ecosystem", "test"}


def run(*command: str | Path, **environment: str) -> str:
    """The output of a command that has to succeed."""
    done = subprocess.run(
        [str(part) for part in command],
        env=clean_environment() | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def clean_environment() -> dict[str, str]:
    """Ours without what would let a fresh environment see this one."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def extras() -> list[str]:
    """The extras that are for users."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    return sorted(set(declared) - FOR_DEVELOPERS)


def say(what: str) -> None:
    """Report a check that has passed."""
    print(f"ok  {what}", flush=True)


def checkout(folder: Path) -> Path:
    """A clone, for the version, with the files of the working tree on top."""
    copy = folder / "checkout"
    run("git", "clone", "--quiet", ROOT, copy)
    listed = run("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    return copy


def build(source: Path, folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    out = folder / "dist"
    run(sys.executable, "-m", "build", "--outdir", out, source)
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    say(f"built {sdist.name} ({sdist.stat().st_size // 1024} kB), {wheel.name}")
    return sdist, wheel


def look_inside(sdist: Path, wheel: Path) -> None:
    """Both hold what they need, and the wheel nothing else."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    if missing := [name for name in IN_SDIST if name not in names]:
        raise SystemExit(f"{sdist.name} lacks {missing}")
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
        (metadata,) = (archive.read(name).decode() for name in files if name.endswith("dist-info/METADATA"))
    if missing := [what for what in IN_WHEEL if not any(re.fullmatch(what, name) for name in files)]:
        raise SystemExit(f"{wheel.name} lacks {missing}")
    if superfluous := [name for name in files if re.match(NOT_IN_WHEEL, name)]:
        raise SystemExit(f"{wheel.name} should not hold {superfluous}")
    if missing := [extra for extra in extras() if f"Provides-Extra: {extra}\n" not in metadata]:
        raise SystemExit(f"{wheel.name} has no extra {missing}")
    say(f"contents, and the extras {', '.join(extras())}")


def try_out(name: str, package: str, folder: Path, kernels: str, **environment: str) -> None:
    """Install into a fresh environment and use it from outside of the checkout."""
    home = folder / name.replace(" ", "-")
    venv.create(home, with_pip=True)
    python, command = (
        home / ("Scripts" if os.name == "nt" else "bin") / file for file in ("python", "autonmf")
    )
    run(python, "-m", "pip", "install", "--quiet", f"{package}[cli]", **environment)
    version = run(python, "-c", "import autonmf; print(autonmf.__version__)").strip()
    info = run(command, "info")
    if not re.search(rf"kernels: +{kernels}", info):
        raise SystemExit(f"{name}: expected {kernels} kernels, got\n{info}")
    if "rank" not in run(command, "demo"):
        raise SystemExit(f"{name}: the demo says nothing of a rank")
    say(f"{name}: version {version}, {kernels} kernels, the demo runs")


def without_history(source: Path, folder: Path) -> None:
    """The version of a tree without git is the fallback."""
    tree = folder / "tree"
    shutil.copytree(source, tree, ignore=shutil.ignore_patterns(".git"))
    (said,) = re.findall(r'^fallback_version = "(.+)"', (tree / "pyproject.toml").read_text("utf-8"), re.M)
    run(sys.executable, "-m", "build", "--sdist", "--outdir", folder / "bare", tree)
    (sdist,) = (folder / "bare").glob("*.tar.gz")
    if sdist.name != f"autonmf-{said}.tar.gz":
        raise SystemExit(f"without git the version should be {said}: {sdist.name}")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    if missing := [name for name in IN_SDIST if name not in names]:
        raise SystemExit(f"without git the sdist lacks {missing}")
    say(f"without git: {sdist.name}, complete")


def main() -> None:
    """Everything, one after the other; the first mistake ends it."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = checkout(folder)
        sdist, wheel = build(source, folder)
        look_inside(sdist, wheel)
        without_history(source, folder)
        try_out("wheel", f"{wheel}[{','.join(extras())}]", folder, "C")
        try_out("sdist", str(sdist), folder, "C")
        try_out("sdist without a compiler", str(sdist), folder, "NumPy", CC="no-such-compiler")


if __name__ == "__main__":
    main()
