"""A Chroma server by its address: the errors when it is down or another, tokens, and the ownership of collections."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hub.memory.engine_contract import EngineUnavailable, IndexDamaged
from integrations.memory.chroma.engine import discard, open_vectors
from integrations.memory.chroma.server import ServerCollections
from tests.integrations.memory.engines.conftest import ChromaServer
from tests.integrations.memory.engines.kinds import DIMENSIONS, SERVER_S, vector
from tests.servers.ports import free_port

NORTH = vector(1, 0)
TOKEN = "a-token-of-the-test"


class Guard(BaseHTTPRequestHandler):
    """Stands before a server and lets in who has the token."""

    port: int
    protocol_version = "HTTP/1.1"

    def _pass_on(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._answer(401, b'{"error": "no"}')
            return
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(self.command, self.path, content, {"Content-Type": "application/json"})
        response = connection.getresponse()
        self._answer(response.status, response.read())
        connection.close()

    def _answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = _pass_on

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def guarded(chroma_server: ChromaServer) -> Iterator[str]:
    handler = type("OurGuard", (Guard,), {"port": chroma_server.port})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_nobody_at_the_address_is_told_with_the_address(tmp_path: Path) -> None:
    port = free_port()

    with pytest.raises(EngineUnavailable, match=rf"http://127\.0\.0\.1:{port} does not answer .*chroma\.url"):
        open_vectors(tmp_path, DIMENSIONS, {"url": f"http://127.0.0.1:{port}"})


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://127.0.0.1", "http://"])
def test_what_is_no_address_is_told(url: str, tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"chroma\.url is not an address"):
        open_vectors(tmp_path, DIMENSIONS, {"url": url})


def test_a_server_of_something_else_is_told(chroma_server: ChromaServer, tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match="not a Chroma server"):
        open_vectors(tmp_path, DIMENSIONS, {"url": f"{chroma_server.url}/elsewhere"})


def test_the_token_lets_in(guarded: str, tmp_path: Path) -> None:
    index = open_vectors(tmp_path, DIMENSIONS, {"url": guarded, "token": TOKEN, "timeout_s": SERVER_S})
    index.apply((), [(1, "private", NORTH)])

    assert [id_ for id_, _ in index.search(NORTH, ["private"], 5)] == [1]
    index.close()


@pytest.mark.parametrize("token", [None, "another"])
def test_without_the_token_it_is_told_and_the_token_is_not_repeated(
    guarded: str, token: str | None, tmp_path: Path
) -> None:
    settings = {"url": guarded, "token": token, "timeout_s": SERVER_S}

    with pytest.raises(EngineUnavailable, match=r"chroma\.token") as caught:
        open_vectors(tmp_path, DIMENSIONS, settings)

    assert "another" not in caught.value.text


def test_a_password_in_the_address_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        open_vectors(tmp_path, DIMENSIONS, {"url": "http://me:hidden@127.0.0.1:9"})

    assert "hidden" not in caught.value.text


def test_a_server_that_goes_and_comes_back_has_everything(tmp_path: Path) -> None:
    server = ChromaServer(tmp_path / "server")
    index = open_vectors(tmp_path / "index", DIMENSIONS, {"url": server.url, "timeout_s": SERVER_S})
    index.apply((), [(1, "private", NORTH)])

    server.stop()
    with pytest.raises(EngineUnavailable):
        index.search(NORTH, ["private"], 5)
    with pytest.raises(EngineUnavailable):
        index.apply((), [(2, "private", NORTH)])
    server.start()

    assert [id_ for id_, _ in index.search(NORTH, ["private"], 5)] == [1]
    index.apply((), [(2, "private", NORTH)])
    assert index.ids() == {1, 2}
    index.close()
    server.stop()


def test_a_server_that_lost_its_data_is_damage(chroma_server: ChromaServer, tmp_path: Path) -> None:
    settings = {"url": chroma_server.url, "timeout_s": SERVER_S}
    index = open_vectors(tmp_path, DIMENSIONS, settings)
    index.apply((), [(1, "private", NORTH)])

    discard(tmp_path, settings)

    with pytest.raises(IndexDamaged):
        index.search(NORTH, ["private"], 5)
    index.close()
    again = open_vectors(tmp_path, DIMENSIONS, settings)
    assert again.ids() == set()
    again.close()


def test_what_is_discarded_is_ours_alone(chroma_server: ChromaServer, tmp_path: Path) -> None:
    settings = {"url": chroma_server.url, "timeout_s": SERVER_S}
    for name in ("old", "new"):
        index = open_vectors(tmp_path / name, DIMENSIONS, settings)
        index.apply((), [(1, "private", NORTH)])
        index.close()

    discard(tmp_path / "old", settings)
    discard(tmp_path / "never", settings)
    discard(tmp_path / "new", {})

    index = open_vectors(tmp_path / "new", DIMENSIONS, settings)
    assert index.ids() == {1}
    index.close()


def test_what_is_opened_is_told_of_its_own_collections_alone(chroma_server: ChromaServer, tmp_path: Path) -> None:
    for name in ("a", "a_b", "A"):
        index = open_vectors(tmp_path / name, DIMENSIONS, {"url": chroma_server.url, "timeout_s": SERVER_S})
        index.apply((), [(1, f"area-{name}", NORTH)])
        index.close()

    own = json.loads((tmp_path / "a" / "chroma.json").read_text())["store"]
    server = ServerCollections(chroma_server.url, None, SERVER_S, f"homarus-{own}")
    assert [each["area"] for each in server.names().values()] == ["area-a"]
    server.close()


def test_a_copy_does_not_take_what_the_server_has_for_the_other(chroma_server: ChromaServer, tmp_path: Path) -> None:
    settings = {"url": chroma_server.url, "timeout_s": SERVER_S}
    index = open_vectors(tmp_path / "elm", DIMENSIONS, settings)
    index.apply((), [(1, "private", NORTH)])
    shutil.copytree(tmp_path / "elm", tmp_path / "copy")

    with pytest.raises(IndexDamaged, match="is a copy"):
        open_vectors(tmp_path / "copy", DIMENSIONS, settings)
    discard(tmp_path / "copy", settings)

    assert [id_ for id_, _ in index.search(NORTH, ["private"], 5)] == [1]
    index.close()


def test_what_was_made_again_in_the_same_place_begins_empty(chroma_server: ChromaServer, tmp_path: Path) -> None:
    settings = {"url": chroma_server.url, "timeout_s": SERVER_S}
    for _ in range(2):
        index = open_vectors(tmp_path / "elm", DIMENSIONS, settings)
        assert index.ids() == set()
        index.apply((), [(1, "private", NORTH)])
        index.close()
        shutil.rmtree(tmp_path / "elm")


def test_one_that_hangs_is_found_out_once_for_all(silent: socket.socket, tmp_path: Path) -> None:
    settings = {"url": f"http://127.0.0.1:{silent.getsockname()[1]}", "timeout_s": 0.4}

    for name in ("elm", "oak", "ash"):
        with pytest.raises(EngineUnavailable, match=r"does not answer \(within 0\.1 s"):
            open_vectors(tmp_path / name, DIMENSIONS, settings)

    silent.setblocking(False)
    silent.accept()[0].close()
    with pytest.raises(BlockingIOError):
        silent.accept()
