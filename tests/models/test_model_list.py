"""The public list of models: what is taken from it, kept and believed, and what is not."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hub.core.clock import ManualClock
from hub.core.errors import HubError
from hub.models.infos import ModelInfos
from hub.models.model_list import LIST_LIMIT_BYTES, ModelList
from hub.models.provider_config import ProviderConfig
from hub.security.egress import Egress

FILE = "model_list.json"
OPUS = {
    "litellm_provider": "anthropic",
    "mode": "chat",
    "max_input_tokens": 2_000_000,
    "max_output_tokens": 64_000,
    "input_cost_per_token": 3e-06,
    "output_cost_per_token": 1.5e-05,
    "cache_read_input_token_cost": 3e-07,
    "supports_vision": True,
}
SAMPLE = {"litellm_provider": "one of https://docs…", "mode": "one of: chat", "input_cost_per_token": 0.0}
LISTED: dict[str, Any] = {
    "sample_spec": SAMPLE,
    "claude-opus-9": OPUS,
    "gemini/gemini-9": {**OPUS, "litellm_provider": "gemini", "max_input_tokens": True, "output_cost_per_token": -1},
    "claude-embeds": {**OPUS, "mode": "embedding"},
    "nobody/model": {**OPUS, "litellm_provider": "nobody"},
    "claude-x": None,
}


class Site:
    """Answers with what it holds."""

    def __init__(self) -> None:
        self.status, self.body = 200, json.dumps(LISTED).encode()

    async def answer(self, request: web.Request) -> web.Response:
        return web.Response(status=self.status, body=self.body)


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
async def url(site: Site) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_get("/list.json", site.answer)
    server = TestServer(application)
    await server.start_server()
    yield str(server.make_url("/list.json"))
    await server.close()


@pytest.fixture
async def egress(url: str) -> AsyncIterator[Egress]:
    egress = Egress(lambda: {url.split("/")[2]})
    yield egress
    await egress.close()


@pytest.fixture
def listed(tmp_path: Path) -> ModelList:
    return ModelList(tmp_path / FILE, ManualClock())


async def test_the_list_is_kept_and_tells_more_of_a_model_than_the_catalog(
    listed: ModelList, egress: Egress, url: str, tmp_path: Path
) -> None:
    assert await listed.refresh(egress, url) == {"models": 2, "vendors": 2, "new": []}

    again = ModelList(tmp_path / FILE, ManualClock())
    again.load()
    infos = ModelInfos(ManualClock())
    infos.listed = again
    opus = infos.info(ProviderConfig("anthropic", "litellm"), "claude-opus-9-20270101")
    odd = infos.info(ProviderConfig("gemini", "litellm"), "gemini-9")

    assert again.fetched_ms == listed.fetched_ms
    assert (opus.context_window, opus.input_usd, opus.cache_read_usd, opus.images) == (2_000_000, 3, 0.3, True)
    assert (odd.context_window, odd.output_usd) == (200_000, None)


async def test_a_list_fetched_again_says_what_is_new(listed: ModelList, egress: Egress, url: str, site: Site) -> None:
    await listed.refresh(egress, url)
    site.body = json.dumps({**LISTED, "claude-opus-10": OPUS}).encode()

    assert (await listed.refresh(egress, url))["new"] == ["anthropic/claude-opus-10"]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b"not found"),
        (200, b"<html>sign in</html>"),
        (200, b"[]"),
        (200, b"{}"),
        (200, b'{"a": {"mode": "chat"}}'),
        (200, b"[" * 100_000),
        (200, b" " * (LIST_LIMIT_BYTES + 1)),
    ],
)
async def test_what_is_no_list_is_refused_and_the_last_one_stays(
    listed: ModelList, egress: Egress, url: str, site: Site, status: int, body: bytes
) -> None:
    await listed.refresh(egress, url)
    site.status, site.body = status, body

    with pytest.raises(HubError):
        await listed.refresh(egress, url)

    assert listed.find("anthropic", "claude-opus-9") is not None


@pytest.mark.parametrize(
    "data", [b'{"fetched_ms": 1, "models": [{"id"', b'{"fetched_ms": 1, "models": [{"id": "\xff"}]}']
)
def test_a_damaged_file_is_set_aside(listed: ModelList, tmp_path: Path, data: bytes) -> None:
    (tmp_path / FILE).write_bytes(data)

    listed.load()

    assert listed.find("anthropic", "claude-opus-9") is None
    assert [each.name.startswith(f"{FILE}.damaged-") for each in tmp_path.iterdir()] == [True]
