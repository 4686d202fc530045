"""The server of models that hubs in processes of their own are given."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.openai_server import OpenAIServerProcess


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServerProcess]:
    with OpenAIServerProcess() as server:
        yield server
