"""A quiz with buttons on Telegram, played to its end: each press reaches the agent that asked, over a restart too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.homes import MODELS, make_home
from tests.e2e.talk import query, until
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServerProcess
from tests.servers.telegram_server import TelegramThread

CAPITAL, RIVER = "What is the capital of Germany?", "Which river flows through it?"
SCORE = "You have 2 of 2. Well done!"


def asks(question: str, *answers: str) -> dict[str, Any]:
    sent = {"action": "send", "text": question, "buttons": answers}
    return {"tool_call": {"name": "message", "arguments": sent}}


def test_a_quiz_with_buttons_is_played_to_its_end(tmp_path: Path) -> None:
    with OpenAIServerProcess() as models, TelegramThread(4711) as bot:
        models.rule("Quiz me", asks(CAPITAL, "Berlin", "Paris"))
        models.rule(rf'\[pressed: "Berlin" on "{CAPITAL[:-1]}', asks(RIVER, "Seine", "Spree"))
        models.rule(rf'\[pressed: "Spree" on "{RIVER[:-1]}', SCORE)
        models.rule(".", "NO_REPLY", tool_result="sent")
        entry = f'{{account: family, token: "{bot.server.token}", api_root: "{bot.server.api_root}"}}'
        people = "people: [{id: me, name: Me, owner: true, identities: ['telegram:user:7']}]"
        configuration = f"{people}\ntelegram: [{entry}]\n" + MODELS.format(base_url=models.base_url)
        chats = bot.server.chats
        home = make_home(tmp_path / "home", configuration)

        with HubProcess(home) as hub:
            bot.says("Quiz me")
            until(lambda: chats.shown(7) == [CAPITAL])
            until(lambda: query(hub, "SELECT state FROM runs") == [("answered",)])  # or it would be asked again
            until(lambda: query(hub, "SELECT DISTINCT state FROM outbox") == [("sent",)])
        with HubProcess(home) as hub:
            bot.presses("Berlin")
            until(lambda: chats.shown(7) == [CAPITAL, RIVER])
            bot.presses("Berlin")
            until(lambda: chats.notices == ["You have pressed this button already."])
            bot.presses("Spree")
            until(lambda: chats.shown(7) == [CAPITAL, RIVER, SCORE])
            until(lambda: {each["state"] for each in hub.rpc("outbox.list")["messages"]} == {"sent"})
            until(lambda: len(chats.answered) == 3)
