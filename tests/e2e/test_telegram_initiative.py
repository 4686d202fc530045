"""What a hub without a model says by itself in Telegram: a briefing, a job, a reminder and an alert."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.homes import make_home
from tests.e2e.talk import query, until
from tests.servers.hub_process import HubProcess
from tests.servers.telegram_server import TelegramThread

ADA = 7
GOOD_MORNING = """\
- alias: Good morning
  triggers:
    - {trigger: cron, expression: 30 7 * * mon-fri}
  actions:
    - action: agent.run
      data: {message: "Tell me what matters today, in five lines.", announce: last}
"""
HEARTBEAT = """\
- id: heart
  triggers: [{trigger: event, event_type: heartbeat_wake}]
  actions: [{action: agent.heartbeat}]
"""


@pytest.fixture
def bot() -> Iterator[TelegramThread]:
    with TelegramThread(4242) as bot:
        yield bot


@pytest.fixture
def hub(tmp_path: Path, bot: TelegramThread) -> Iterator[HubProcess]:
    home = make_home(
        tmp_path / "home",
        "people: [{id: me, name: Me, owner: true, identities: ['telegram:user:7']}]\n"
        f'telegram: {{token: "{bot.server.token}", api_root: "{bot.server.api_root}"}}\n'
        "messages: {inbound: {debounce_ms: 0}}\n"
        "automation: !include automations.yaml\n",
    )
    (home / "automations.yaml").write_text(GOOD_MORNING + HEARTBEAT)
    with HubProcess(home) as hub:
        yield hub


def shown(bot: TelegramThread) -> list[str]:
    return bot.server.chats.shown(ADA)


def arrives(bot: TelegramThread, text: str, times: int = 1) -> None:
    try:
        until(lambda: sum(text in each for each in shown(bot)) == times)
    except AssertionError:
        raise AssertionError(f"{text!r} did not come {times} times: {shown(bot)}") from None


def until_sent(hub: HubProcess) -> None:
    """Wait until the hub knows what was seen there already."""
    sent = [("telegram", "default", "sent")]
    until(lambda: query(hub, "SELECT DISTINCT channel, account, state FROM outbox") == sent)


def test_what_a_hub_says_by_itself_arrives_also_after_a_restart(hub: HubProcess, bot: TelegramThread) -> None:
    bot.says("hello")
    until(lambda: len(shown(bot)) == 1)

    for times in (1, 2):
        if times == 2:
            until_sent(hub)
            hub.stop()
            hub.start()
        assert hub.cli("automation", "trigger", "good_morning").returncode == 0
        arrives(bot, "I have nothing in memory", times)
        assert hub.cli("cron", "add", "--at", "1s", "--message", "hi").returncode == 0
        arrives(bot, "Ask me for help to see what I can do", times + 1)
        bot.says(f"remind me in 1 second to water plant {times}")
        arrives(bot, f"water plant {times}", times=2)  # with the promise
        added = hub.cli("cron", "add", "--at", "1s", "--system-event", f"Door {times} is open", "--wake", "now")
        assert added.returncode == 0
        arrives(bot, f"Door {times} is open")

    until_sent(hub)
    assert query(hub, "SELECT DISTINCT account, account_id FROM inbox") == [("default", "4242")]


def test_a_reminder_that_was_written_with_the_id_of_its_account_arrives(hub: HubProcess, bot: TelegramThread) -> None:
    bot.says("hello")
    until(lambda: len(shown(bot)) == 1)
    bot.says("remind me in 2 hours to take the cake out")
    until(lambda: len(shown(bot)) == 2)
    until_sent(hub)
    hub.kill()
    automations = hub.home / "automations.yaml"
    text = automations.read_text()
    assert "account" not in text
    automations.write_text(text.replace("channel: telegram", 'channel: telegram\n        account: "4242"'))

    hub.start()
    [reminder] = [each["id"] for each in hub.rpc("automation.list")["automations"] if "cake" in each["id"]]
    assert hub.cli("automation", "trigger", reminder).returncode == 0

    arrives(bot, "take the cake out", times=2)  # with the promise


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("cron", "add", "--at", "5s", "--text", "hi", "--channel", "telegrm", "--to", "7"), "did you mean telegram?"),
        (("cron", "add", "--at", "5s", "--text", "hi", "--to", "telegrm:7"), "did you mean telegram?"),
        (("message", "send", "--to", "telegrm:7", "hi"), "there is no channel telegrm"),
        (("message", "send", "--to", "telegram:7", "--account", "work", "hi"), "telegram has no account work"),
    ],
)
def test_an_address_that_leads_nowhere_is_refused(hub: HubProcess, arguments: tuple[str, ...], told: str) -> None:
    ran = hub.cli(*arguments)

    assert ran.returncode != 0
    assert told in ran.stderr
    assert query(hub, "SELECT count(*) FROM outbox") == [(0,)]


def test_status_and_doctor_tell_what_waits_and_why(hub: HubProcess, bot: TelegramThread) -> None:
    bot.says("hello")
    until(lambda: len(shown(bot)) == 1)
    bot.run(bot.server.stop())
    until(lambda: hub.rpc("channels.status")["channelAccounts"]["telegram"][0]["state"] == "disconnected")
    hub.rpc("service.call", {"service": "notify.me", "data": {"message": "news"}})

    until(lambda: "Not sent yet: 1 to telegram (default): it is not connected" in hub.cli("status").stdout)
    assert "1 messages wait for telegram (default): it is not connected" in hub.cli("doctor").stdout
