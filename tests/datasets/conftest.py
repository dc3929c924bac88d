"""A server of small files on this machine, and the folder of the benchmark data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from autonmf.datasets.fetching import SOURCES, Source


@dataclass
class Server:
    """Files of a folder under an address; those named in `cut` end before their announced length."""

    folder: Path
    url: str
    asked: list[str] = field(default_factory=list)
    cut: set[str] = field(default_factory=set)


class Handler(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: Any, state: Server, **options: Any) -> None:
        self.state = state
        super().__init__(*arguments, directory=str(state.folder), **options)

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        self.state.asked.append(name)
        if name not in self.state.cut:
            super().do_GET()
            return
        content = (self.state.folder / name).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])
        self.close_connection = True

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Every source points to this machine, without a hash; nothing else is asked for anything."""
    pytest.importorskip("pooch", reason="downloads need pooch: pip install 'autonmf[data]'")
    folder = tmp_path / "published"
    folder.mkdir()
    state = Server(folder, "")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, state=state)) as httpd:
        thread = Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        state.url = f"http://127.0.0.1:{httpd.server_port}"
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        for name in SOURCES:
            monkeypatch.setitem(SOURCES, name, Source(f"{state.url}/{name}"))
        yield state
        httpd.shutdown()
        thread.join()
