"""Downloads from a server on this machine: whole, checked, recorded, and never left in part."""

from __future__ import annotations

import hashlib
import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from autonmf.datasets import DataUnavailableError
from autonmf.datasets.fetching import SOURCES, Source, fetch_file

FILE = "swimmer.mat"
CONTENT = bytes(range(256)) * 400
HASH = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def home(server: Any, tmp_path: Path) -> Path:
    (server.folder / FILE).write_bytes(CONTENT)
    return tmp_path / "home"


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()} if folder.is_dir() else set()


def test_pinned() -> None:
    """An address names a commit, a version or a number of its own; a hash is a SHA-256."""
    for source in SOURCES.values():
        assert source.sha256 is None or re.fullmatch("[0-9a-f]{64}", source.sha256)
        if re.match("https://(raw.githubusercontent.com|huggingface.co)/", source.url):
            assert re.search("/[0-9a-f]{40}/", source.url)
        else:
            assert source.sha256 is not None


def test_hash_is_shown_recorded_and_checked(server: Any, home: Path, capsys) -> None:
    file = fetch_file(FILE, home)
    assert file == home / FILE
    assert file.read_bytes() == CONTENT
    record = json.loads((home / f"{FILE}.download.json").read_text())
    assert record == {"file": FILE, "url": f"{server.url}/{FILE}", "sha256": HASH}
    printed = capsys.readouterr()
    assert HASH in printed.err
    assert "no hash is published" in printed.err
    assert printed.out == ""
    assert names(home) == {FILE, f"{FILE}.download.json"}

    assert fetch_file(FILE, home) == file
    assert fetch_file(FILE, home, download=False) == file
    assert server.asked == [FILE]
    assert capsys.readouterr().err == ""

    file.write_bytes(CONTENT[:-1])
    with pytest.raises(DataUnavailableError, match=f"no longer the file that was downloaded.*{HASH}"):
        fetch_file(FILE, home)


def test_record_binds_the_next_download(server: Any, home: Path) -> None:
    fetch_file(FILE, home).unlink()
    (server.folder / FILE).write_bytes(b"something else")
    with pytest.raises(DataUnavailableError, match=f"refused.*{HASH}"):
        fetch_file(FILE, home)
    assert names(home) == {f"{FILE}.download.json"}
    (server.folder / FILE).write_bytes(CONTENT)
    assert fetch_file(FILE, home).read_bytes() == CONTENT


def test_known_hash(server: Any, home: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setitem(SOURCES, FILE, Source(f"{server.url}/{FILE}", HASH))
    assert fetch_file(FILE, home).read_bytes() == CONTENT
    assert "no hash is published" not in capsys.readouterr().err


def test_wrong_hash_is_refused(server: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "0" * 64
    monkeypatch.setitem(SOURCES, FILE, Source(f"{server.url}/{FILE}", wrong))
    with pytest.raises(DataUnavailableError, match=f"{FILE} sent is refused.*{HASH}.*{wrong}"):
        fetch_file(FILE, home)
    assert names(home) == set()


def test_half_a_file_is_no_file(server: Any, home: Path) -> None:
    server.cut.add(FILE)
    with pytest.raises(DataUnavailableError, match="cannot be downloaded"):
        fetch_file(FILE, home)
    assert names(home) == set()
    server.cut.clear()
    assert fetch_file(FILE, home).read_bytes() == CONTENT


def test_not_on_the_server(server: Any, home: Path) -> None:
    (server.folder / FILE).unlink()
    with pytest.raises(DataUnavailableError) as refused:
        fetch_file(FILE, home)
    for word in (f"no {FILE} in {home}", f"{server.url}/{FILE}", "answers 404", f"Put the file into {home}"):
        assert word in str(refused.value)


def test_no_network(server: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/{FILE}"
        monkeypatch.setitem(SOURCES, FILE, Source(url))
        with pytest.raises(DataUnavailableError) as refused:
            fetch_file(FILE, home)
    for word in (f"no {FILE} in {home}", f"cannot be downloaded from {url}: ", f"into {home}"):
        assert word in str(refused.value)
    assert str(refused.value).count(url) == 1
    assert names(home) == set()


def test_put_there_by_hand(server: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a record a file is taken as it is, even where another one is published."""
    monkeypatch.setitem(SOURCES, FILE, Source(f"{server.url}/{FILE}", "0" * 64))
    home.mkdir()
    (home / FILE).write_bytes(b"mine")
    assert fetch_file(FILE, home).read_bytes() == b"mine"
    assert server.asked == []


def test_nowhere_to_write(server: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataUnavailableError, match=r"no folder .*written to.*data_home=.*AUTONMF_DATA"):
        fetch_file(FILE, tmp_path / "file" / "below")


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense"])
def test_damaged_record(server: Any, home: Path, text: str) -> None:
    file = fetch_file(FILE, home)
    record = home / f"{FILE}.download.json"
    record.write_text(text)
    with pytest.raises(DataUnavailableError, match=r"cannot read the record.*download.json"):
        fetch_file(FILE, home)
    record.unlink()
    assert fetch_file(FILE, home) == file
