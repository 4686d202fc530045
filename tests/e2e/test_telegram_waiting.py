"""A person who writes on Telegram while their turn waits for an approval gets a notice, in a real hub."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.homes import MODELS, make_home
from tests.e2e.talk import until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess
from tests.servers.telegram_server import TelegramThread

WAITING = "I am waiting for your answer to"


def test_what_a_turn_waits_for_is_said_to_who_writes_meanwhile(tmp_path: Path) -> None:
    with OpenAIServerProcess() as models, TelegramThread(1) as bot:
        models.set_default("Done.")
        models.queue([{"tool_call": {"name": "exec", "arguments": {"command": "touch now"}}}])
        configuration = (
            "people: [{id: me, name: Me, owner: true, identities: ['telegram:user:7']}]\n"
            "messages: {inbound: {debounce_ms: 0}}\n"
            f'telegram: {{account: family, token: "{bot.server.token}", api_root: "{bot.server.api_root}"}}\n'
            + MODELS.format(base_url=models.base_url)
        )
        with HubProcess(make_home(tmp_path / "home", configuration)):
            bot.says("please touch it")
            until(lambda: any("needs your approval" in text for text in bot.server.chats.shown(7)))
            bot.says("are you there?")
            told = until(lambda: [text for text in bot.server.chats.shown(7) if text.startswith(WAITING)])
            code = told[0].partition("/deny ")[2][:6]
            bot.says(f"/deny {code}")
            until(lambda: "Done." in bot.server.chats.shown(7))
