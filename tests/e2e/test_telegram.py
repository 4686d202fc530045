"""Bots on Telegram in a real hub: one that asks for news, one that is delivered to, and one whose token is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.e2e.homes import MODELS, make_home
from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess
from tests.servers.ports import free_port
from tests.servers.telegram_server import TelegramThread

SECRET = "a-secret-of-the-webhook"
NAMES = ("asking", "hook", "refused")
Bots = dict[str, TelegramThread]


@pytest.fixture(scope="module")
def bots() -> Iterator[Bots]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(TelegramThread(number)) for number, name in enumerate(NAMES, 1)}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, bots: Bots) -> Iterator[HubProcess]:
    with OpenAIServerProcess() as models:
        port = free_port()
        models.set_default("Hello from the hub.")
        entries = [
            f'{{account: {name}, token: "{bot.server.token}", api_root: "{bot.server.api_root}"'
            for name, bot in bots.items()
        ]
        entries[1] += f', webhook: {{url: "http://127.0.0.1:{port}/telegram/hook", secret: {SECRET}}}'
        configuration = (
            "people: [{id: me, name: Me, owner: true, identities: ['telegram:user:7']}]\n"
            "messages: {inbound: {debounce_ms: 0}}\n"
            "telegram:\n" + "".join(f"  - {entry}}}\n" for entry in entries) + MODELS.format(base_url=models.base_url)
        )
        bots["refused"].server.token = "1:revoked"
        hub = HubProcess(make_home(tmp_path_factory.mktemp("telegram") / "home", configuration))
        hub.port = port
        with hub:
            yield hub


@pytest.mark.parametrize("name", ["asking", "hook"])
def test_a_message_is_answered(hub: HubProcess, bots: Bots, name: str) -> None:
    bots[name].says("hello")

    until(lambda: bots[name].server.chats.shown(7) == ["Hello from the hub."])
    until(lambda: len(bots[name].server.confirmed) == 1)


def test_a_delivery_without_the_secret_is_refused(hub: HubProcess) -> None:
    update = {"update_id": 1, "message": {"message_id": 1, "date": 1, "chat": {"id": 7, "type": "private"}}}

    for headers in ({}, {"X-Telegram-Bot-Api-Secret-Token": "another"}):
        status, _ = hub.post("/telegram/hook", update, headers=headers)
        assert status == 401


@pytest.mark.parametrize("body", ["text", [], None, {"update_id": "?"}, {"update_id": 5, "message": "?"}])
def test_a_delivery_that_is_no_update_breaks_nothing(hub: HubProcess, body: object) -> None:
    status, _ = hub.post("/telegram/hook", body, headers={"X-Telegram-Bot-Api-Secret-Token": SECRET})

    assert status in (200, 400)


def test_there_is_no_route_for_a_bot_without_a_webhook(hub: HubProcess) -> None:
    assert hub.post("/telegram/asking", {})[0] == 404


def test_a_refused_token_is_a_repair_and_stops_no_other_bot(hub: HubProcess) -> None:
    def states() -> dict[str, str]:
        found = hub.rpc("channels.status")["channelAccounts"]["telegram"]
        return {each["accountId"]: each["state"] for each in found}

    until(lambda: states() == {"asking": "connected", "hook": "connected", "refused": "failed"})
    until(lambda: "telegram:refused" in [repair["id"] for repair in hub.rpc("status")["repairs"]])
