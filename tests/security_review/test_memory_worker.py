"""The process that indexes, and whom it asks: it gets what it needs, tells no secrets, and stays within its bounds."""

from __future__ import annotations

import gzip
import json
import logging
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from aiohttp import web

from hub.core.schema import Invalid, url
from hub.core.secret import Secret
from integrations.memory.notes.client.process import INHERITED
from integrations.memory.notes.index.embeddings.address import Endpoint
from integrations.memory.notes.index.embeddings.client import ANSWER_LIMIT_BYTES, Client
from integrations.memory.notes.index.embeddings.provider import ProviderFailed
from tests.security_review.besieged import Besieged, besieged, files_in
from tests.servers.embedding_server import EmbeddingServer
from tests.servers.openai_server import OpenAIServer

KEY = "memory-key-of-this-home-987654321"
ELSEWHERE = "pa-key-of-the-environment-123456"


@pytest.fixture
def embeddings() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
async def house(
    tmp_path: Path, openai_server: OpenAIServer, embeddings: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Besieged]:
    monkeypatch.setenv("VOYAGE_API_KEY", ELSEWHERE)
    address = f"{embeddings.base_url}?api-key=password-in-url"
    more = f"memory:\n  embeddings: {{provider: openai, base_url: '{address}', model: m, api_key: {KEY}}}\n"
    async with besieged(tmp_path / "home", openai_server, more=more, remembers=True) as standing:
        (standing.workspace / "MEMORY.md").write_text("# Memory\n\n- the boiler hums\n")
        yield standing


async def test_the_worker_has_what_it_needs_of_the_environment_and_no_key_in_sight(house: Besieged) -> None:
    status = await house.rpc("memory.status", {})

    process = Path("/proc") / str(status["index"]["worker"]["pid"])
    environment = {
        entry.partition(b"=")[0].decode() for entry in (process / "environ").read_bytes().split(b"\0") if entry
    }
    assert environment <= {*INHERITED, "PYTHONPATH", "PYTHONUNBUFFERED"}
    assert KEY.encode() not in (process / "cmdline").read_bytes() + (process / "environ").read_bytes()


async def test_keys_go_to_their_own_provider_and_stand_in_no_answer_log_or_file(
    house: Besieged, embeddings: EmbeddingServer, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[object] = []
    headers: list[dict[str, str]] = []
    with caplog.at_level(logging.DEBUG):
        told.append(await house.rpc("memory.index", {"force": True, "idempotencyKey": "1"}))
        for fault in (
            {"status": 401, "message": f"Incorrect API key {KEY} for password-in-url"},
            {"status": 500, "message": f"{KEY}"},
            {"kind": "redirect"},
            {"kind": "html"},
        ):
            embeddings.queue(*[fault] * 8)
            (house.workspace / "MEMORY.md").write_text(f"# Memory\n\n- the boiler hums {len(told)}\n")
            told.append(await house.rpc("memory.index", {"force": True, "idempotencyKey": str(len(told))}))
            told.append(await house.rpc("memory.status", {}))
            told.append(await house.rpc("memory.search", {"query": "boiler"}))
            headers += [each.headers for each in embeddings.asked()]
            embeddings.reset()
        told.append([str(each) for each in house.hub.repairs.all()])

    for secret in (KEY, "password-in-url", ELSEWHERE):
        assert secret not in str(told)
        assert [record for record in caplog.messages if secret in record] == []
        kept = files_in(house.hub.home.storage)
        index = [(file, data) for file, data in kept if file.suffix != ".yaml"]  # copies of what the owner wrote
        assert [file.name for file, data in index if secret.encode() in data] == []
    assert any(KEY in str(each) for each in headers)
    assert ELSEWHERE not in str(headers)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    for address in ("http://me:password-in-url@host/v1", "https://password-in-url@host", "ftp://me:password-in-url@h"):
        with pytest.raises(Invalid) as refused:
            url(address)

        assert "password-in-url" not in str(refused.value)


async def test_all_that_is_kept_is_for_the_owner_of_the_home_alone(house: Besieged) -> None:
    await house.rpc("memory.add", {"text": "the boiler sings", "idempotencyKey": "a"})
    await house.rpc("memory.index", {"idempotencyKey": "1"})

    storage = house.hub.home.storage
    written = [*storage.joinpath("memory").rglob("*"), *storage.joinpath("agents").rglob("*"), storage / "memory"]
    written += [house.workspace / "memory" / each for each in os.listdir(house.workspace / "memory") if "20" in each]
    assert any(each.suffix == ".db" for each in written)
    assert any("memory_history" in str(each) for each in written)
    for each in written:
        with suppress(FileNotFoundError):  # a journal of the index
            assert stat.S_IMODE(each.lstat().st_mode) & 0o077 == 0, each


async def test_an_index_that_was_replaced_by_a_link_leads_nowhere(house: Besieged, tmp_path: Path) -> None:
    """Whatever replaced it: what is removed is removed from the index, never behind a link."""
    await house.rpc("memory.index", {"idempotencyKey": "1"})
    precious = tmp_path / "precious"
    (precious / "g000009").mkdir(parents=True)
    (precious / "g000009" / "kept.md").write_text("kept")
    (house.hub.home.storage / "memory" / "main" / "g000077").symlink_to(precious)

    built = await house.rpc("memory.index", {"force": True, "idempotencyKey": "2"})

    assert built["chunks"] >= 1
    assert (precious / "g000009" / "kept.md").read_text() == "kept"


@pytest.fixture
async def bomb() -> AsyncIterator[str]:
    """A server whose answers are small on the wire and huge when they are unpacked, or never end."""
    packed = gzip.compress(b'{"data": "' + b"0" * (4 * ANSWER_LIMIT_BYTES) + b'"}', compresslevel=9)

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=packed, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})

    async def deep(request: web.Request) -> web.StreamResponse:
        return web.Response(text="[" * 1_000_000, content_type="application/json")

    async def models(request: web.Request) -> web.StreamResponse:
        return web.json_response({"data": [{"id": "x" * 100_000}] * 50})

    application = web.Application()
    application.router.add_get("/packed", answer)
    application.router.add_get("/deep", deep)
    application.router.add_get("/models", models)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.mark.parametrize("path", ["packed", "deep"])
async def test_an_answer_is_bounded_however_it_is_packed(bomb: str, path: str) -> None:
    client = Client("x", "m", Endpoint(bomb), {}, (Secret(KEY),), timeout_s=60.0)
    try:
        with pytest.raises(ProviderFailed) as failed:
            await client.call("GET", f"{bomb}/{path}")
    finally:
        await client.close()

    assert len(json.dumps(failed.value.text)) < 1_000
