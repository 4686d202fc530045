"""Fixtures that the whole suite shares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.openai_server import OpenAIServer


@pytest.fixture
def openai_server() -> Iterator[OpenAIServer]:
    """A scripted OpenAI-compatible server of this test's own (see `tests/servers/openai_script.py`)."""
    with OpenAIServer() as server:
        yield server
