"""The page of tools: every tool by group, with a sentence and what it may do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.hub_process import HubProcess
from tests.web.plain_browser import plain_browser


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with HubProcess(tmp_path_factory.mktemp("tools") / "home") as process:
        yield process


async def test_every_tool_stands_in_its_group_with_a_sentence_and_its_risk(hub: HubProcess) -> None:
    async with plain_browser(hub) as plain:
        await plain.goto("/tools/all")

        files = " ".join(plain.region("Files").get_text(" ").split())
        assert "Ls List a directory of the workspace. only reads" in files
        assert "hard to undo" in plain.having("li", "Apply patch").get_text()
        assert len(plain.texts("section.card li")) == len(hub.rpc("tools.catalog")["tools"])
