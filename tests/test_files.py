"""Files that are replaced: permissions, links, and what is no file."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from autonmf import AutoNMF, RankPath
from autonmf._files import replace_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions and links are those of Unix")


def write(file: Path, content: bytes = b"new") -> None:
    with replace_file(file) as stream:
        stream.write(content)


def get_mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_permissions_are_kept(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"old")
    file.chmod(mode)
    with replace_file(file) as stream:
        part = next(tmp_path.glob("*.part"))
        assert get_mode(part) == mode, "nobody may read the new one meanwhile"
        stream.write(b"new")
    assert get_mode(file) == mode
    assert file.read_bytes() == b"new"


def test_new_files_have_the_usual_permissions(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "x")
    finally:
        os.umask(before)
    assert get_mode(tmp_path / "x") == 0o640


def test_the_owner_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"old")
    try:
        os.chown(file, 12345, 23456)
    except PermissionError:
        pytest.skip("only root may give a file away")
    write(file)
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 23456)


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link, chain = tmp_path / "there" / "x", tmp_path / "link", tmp_path / "chain"
    target.write_bytes(b"old")
    target.chmod(0o600)
    link.symlink_to("there/x")
    chain.symlink_to(link)
    for named, content in ((link, b"new"), (chain, b"newer")):
        write(named, content)
        assert named.is_symlink()
        assert target.read_bytes() == content
        assert get_mode(target) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["chain", "link", "there"]
    assert os.listdir(tmp_path / "there") == ["x"]


def test_a_link_to_a_file_that_is_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "x")
    write(tmp_path / "link")
    assert (tmp_path / "x").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to(tmp_path / "round")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/null")
    for name in ("round", "folder", "pipe", "device"):
        with pytest.raises(OSError, match=rf"(not an ordinary file|symbolic links).*{name}"):
            write(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["device", "folder", "pipe", "round"]
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_paths_and_models_are_saved_that_way(tmp_path: Path, low_rank: np.ndarray) -> None:
    model = AutoNMF(max_rank=4, random_state=0).fit(low_rank)
    path: RankPath = model.path_
    for name, one in (("path", path), ("model", model)):
        (tmp_path / name).write_bytes(b"old")
        (tmp_path / name).chmod(0o600)
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(tmp_path / name)
        one.save(tmp_path / "link")
        assert get_mode(tmp_path / name) == 0o600
        assert type(one).load(tmp_path / name)
