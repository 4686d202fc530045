"""The page of tools: every tool by group, with a sentence and what it may do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.hub_process import HubProcess
from tests.web.plain_browser import plain_browser
from web.core.tool_texts import TOOL_TEXTS


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with HubProcess(tmp_path_factory.mktemp("tools") / "home") as process:
        yield process


async def test_every_tool_stands_in_its_group_with_a_sentence_and_its_risk(hub: HubProcess) -> None:
    async with plain_browser(hub) as plain:
        await plain.goto("/tools/all")

        files = " ".join(plain.region("Files").get_text(" ").split())
        assert "List a folder Sees which files are in a folder. only reads" in files
        assert "hard to undo" in plain.having("li", "Change several files").get_text()
        assert len(plain.texts("section.card li")) == len(hub.rpc("tools.catalog")["tools"])


async def test_every_tool_of_the_hub_is_called_and_told_in_the_readers_language(hub: HubProcess) -> None:
    names = {each["name"] for each in hub.rpc("tools.catalog")["tools"]}
    async with plain_browser(hub, "zh-CN") as plain:
        await plain.goto("/tools/all")

        assert names - {*TOOL_TEXTS} == set()
        assert "列出文件夹 查看文件夹中有哪些文件。" in plain.text("main")
        assert "Sees which" not in plain.text("main")
