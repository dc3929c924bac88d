"""Where files are looked for."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from autonmf.datasets import DataUnavailableError, fetch_samson, fetch_urban
from autonmf.datasets.fetching import find, folder_for_downloads, folders


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """An argument, an environment variable and a cache, each with its own folder."""
    pooch = pytest.importorskip("pooch", reason="the cache folder is pooch's")
    found = {name: tmp_path / name for name in ("argument", "environment", "cache")}
    for folder in found.values():
        folder.mkdir()
    monkeypatch.setenv("AUTONMF_DATA", str(found["environment"]))
    monkeypatch.setattr(pooch, "os_cache", lambda project: found["cache"])
    return found


def test_argument_then_environment_then_cache(places: dict[str, Path]) -> None:
    assert list(folders(places["argument"])) == [places["argument"]]
    assert list(folders()) == [places["environment"], places["cache"]]
    assert find("a.npz") is None
    for name in ("cache", "environment"):
        (places[name] / "a.npz").touch()
        assert find("a.npz") == places[name] / "a.npz"
    assert find("a.npz", places["argument"]) is None
    (places["argument"] / "a.npz").mkdir()  # a folder is no file
    assert find("a.npz", places["argument"]) is None


def test_a_home_below_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert list(folders("~/data")) == [tmp_path / "data"]


def test_downloads_go_where_one_can_write(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    assert folder_for_downloads() == places["environment"]
    new = places["argument"] / "new" / "folder"
    assert folder_for_downloads(new) == new
    assert new.is_dir()
    file = places["argument"] / "file"
    file.touch()
    assert folder_for_downloads(file / "below") is None
    monkeypatch.setenv("AUTONMF_DATA", str(file / "below"))
    assert folder_for_downloads() == places["cache"]


def test_the_cache_is_named_after_the_package() -> None:
    pytest.importorskip("pooch", reason="the cache folder is pooch's")
    *_, cache = folders()
    assert "autonmf" in cache.parts


def test_files_are_read_without_pooch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.delenv("AUTONMF_DATA", raising=False)
    assert list(folders()) == []
    with pytest.raises(DataUnavailableError, match=r"pip install 'autonmf\[data\]'.*set AUTONMF_DATA"):
        fetch_urban()
    monkeypatch.setenv("AUTONMF_DATA", str(tmp_path))
    with pytest.raises(DataUnavailableError, match=r"no Urban_R162.mat in .*pip install"):
        fetch_urban()
    Y = np.random.default_rng(0).random((5, 6))
    np.savez(tmp_path / "samson.npz", X=Y, image_shape=(2, 3))
    assert fetch_samson().X.shape == (6, 5)


def test_without_a_download(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailableError) as refused:
        fetch_urban(data_home=tmp_path, download=False)
    for word in ("Urban_R162.mat", str(tmp_path), "https://huggingface.co/datasets/danaroth/urban"):
        assert word in str(refused.value)
    assert list(tmp_path.iterdir()) == []
