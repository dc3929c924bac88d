"""A command line inside the test, and files for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

pytest.importorskip("typer", reason='the command line needs typer and rich: pip install "autonmf[cli]"')

from autonmf.cli import main


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run `autonmf` with these arguments."""

    def invoke(*arguments: object) -> Result:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Result(code, captured.out, captured.err)

    return invoke


@pytest.fixture
def counts(tmp_path: Path, low_rank: np.ndarray) -> Path:
    """A CSV file with names: 60 rows, 40 columns, three components."""
    lines = [["gene", *(f"cell{j}" for j in range(40))]]
    lines += [[f"g{i}", *map(repr, row)] for i, row in enumerate(low_rank.tolist())]
    file = tmp_path / "counts.csv"
    file.write_text("\n".join(map(",".join, lines)))
    return file
