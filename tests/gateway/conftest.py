"""Fixtures of the gateway's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.gateway.house import living
from tests.gateway.rig import Rig, running
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """A gateway that runs."""
    async with running(tmp_path) as rig:
        yield rig


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    """An HTTP client without cookies."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield session


@pytest.fixture
async def house(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[HubFixture]:
    """A gateway with all it serves."""
    async with living(tmp_path, openai_server) as rig:
        yield rig
