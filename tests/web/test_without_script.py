"""The dashboard in a browser without scripts: chat, configuration and preferences are forms."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.web.plain_browser import PlainBrowser, plain_browser


@pytest.fixture
async def plain(hub: HubProcess, model_server: OpenAIServer) -> AsyncIterator[PlainBrowser]:
    model_server.reset()
    async with plain_browser(hub) as browser:
        yield browser


async def test_one_can_chat_with_forms_alone(plain: PlainBrowser, model_server: OpenAIServer, hub: HubProcess) -> None:
    model_server.queue("Hello to you.")
    await plain.goto("/chat")

    plain.fill("Message", "hello without script")
    await plain.press("Send")

    assert "hello without script" in plain.text("[role=log]")
    conversation = plain.url
    key = parse_qs(urlsplit(conversation).query)["session"][0]
    until(lambda: "Hello to you." in str(hub.rpc("chat.history", {"sessionKey": key})))
    await plain.goto(conversation.removeprefix(hub.url))
    assert "Hello to you." in plain.text("[role=log]")


async def test_one_can_edit_the_configuration_in_a_plain_text_field(plain: PlainBrowser, hub: HubProcess) -> None:
    file = hub.home / "configuration.yaml"
    before = file.read_text()
    await plain.goto("/settings/files")
    assert plain.value("Text of configuration.yaml") == before

    plain.fill("Text of configuration.yaml", before + "# written without script\n")
    await plain.press("Save")

    assert plain.url == f"{hub.url}/settings/files?file=configuration.yaml"
    assert file.read_text() == before + "# written without script\n"
    file.write_text(before)


async def test_preferences_are_a_form(plain: PlainBrowser) -> None:
    await plain.goto("/")

    plain.fill("Language", "zh-CN")
    await plain.press("Save", within="body")

    assert plain.text("h1").startswith(("早上好", "下午好", "晚上好"))
