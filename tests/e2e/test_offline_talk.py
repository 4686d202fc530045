"""A newcomer talks to a hub that has no model: memory in English and Chinese, by the tools and the files of a home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.homes import make_home
from tests.e2e.talk import ask, messages_of, shown, until
from tests.servers.hub_process import HubProcess

DAY = "memory/2026-05-13.md"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    home = make_home(tmp_path / "home", "models: {default: offline}\nmemory: {embeddings: {provider: none}}\n")
    with HubProcess(home) as process:
        yield process


def say(hub: HubProcess, text: str) -> str:
    """Say something and return the answer."""
    ask(hub, text)
    return shown(messages_of(hub)[-1])


def note(hub: HubProcess, *entries: str) -> None:
    """Write a day's file beside the hub."""
    file = hub.home / "workspace" / DAY
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("# 2026-05-13\n\n" + "".join(f"- {entry}\n" for entry in entries), encoding="utf-8")


def files(hub: HubProcess) -> str:
    """All that the memory files say."""
    return "".join(file.read_text("utf-8") for file in sorted((hub.home / "workspace" / "memory").rglob("*.md")))


def test_the_first_conversation_of_the_guide_goes_as_it_says(hub: HubProcess) -> None:
    say(hub, "remember that the boiler was serviced on 12 May")
    told = say(hub, "when was the boiler serviced?")
    corrected = say(hub, "no, it was on 14 May")
    with_report = say(hub, "when was the boiler serviced?")
    say(hub, "when Anna comes up, remind me that I owe her 20 euros")
    reminded = say(hub, "who is Anna?")
    yesterday = say(hub, "what did I tell you yesterday?")
    forgotten = say(hub, "forget the boiler")

    assert told == "You told me: the boiler was serviced on 12 May"
    assert "replaces: the boiler was serviced on 12 May" in corrected
    assert with_report == "You told me: the boiler was serviced on 14 May"
    assert reminded.startswith("You wanted to be reminded: I owe her 20 euros")
    assert yesterday.startswith("I have nothing in memory about that.")
    assert "the boiler was serviced on 14 May" in forgotten
    assert "14 May" not in files(hub)


def test_chinese_is_answered_in_chinese(hub: HubProcess) -> None:
    say(hub, "记住：我们的Wi-Fi叫龙虾")
    told = say(hub, "我們的Wi-Fi叫什麼？")
    corrected = say(hub, "不对，我们的Wi-Fi叫螃蟹，不是龙虾")
    say(hub, "说到安娜的时候提醒我还她20欧元")
    reminded = say(hub, "安娜住在哪里？")

    assert told == "你告诉过我：我们的Wi-Fi叫龙虾"
    assert "已划掉：我们的Wi-Fi叫龙虾" in corrected
    assert reminded.startswith("你要我提醒你：还她20欧元")


@pytest.mark.parametrize(
    ("noted", "said", "all_of_it", "several", "too_many"),
    [
        ("bike part {}", "forget the bike", "forget everything about the bike", "6 entries", "nothing was forgotten"),
        ("锅炉零件{}号", "忘记锅炉", "忘记关于锅炉的一切", "6 条", "什么也没有忘记"),
    ],
)
def test_what_fits_many_is_not_forgotten(
    hub: HubProcess, noted: str, said: str, all_of_it: str, several: str, too_many: str
) -> None:
    note(hub, *(noted.format(number) for number in range(1, 7)))
    before = files(hub)

    asked = say(hub, said)
    refused = say(hub, all_of_it)

    assert several in asked
    assert too_many in refused
    assert "match" not in refused or several.endswith("entries")
    assert files(hub) == before


def test_a_question_that_it_does_not_know_is_looked_up(hub: HubProcess) -> None:
    note(hub, "our neighbours with the big dog are called Huber")

    answer = say(hub, "and our neighbours with the big dog?")

    assert answer == "You told me: our neighbours with the big dog are called Huber"


@pytest.mark.parametrize(
    ("said", "words"),
    [("forget the blue caravan", "needs the owner's approval"), ("忘记蓝色房车", "这需要主人批准")],
)
def test_what_the_owner_does_not_approve_is_told_in_the_language_of_the_wish(
    hub: HubProcess, said: str, words: str
) -> None:
    file = hub.home / "workspace" / "memory" / "web.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("---\ntrusted: false\n---\n- Mr Huber owns the blue caravan\n- 胡伯的蓝色房车停在湖边\n", "utf-8")
    told = say(hub, "who owns the blue caravan?")
    hub.rpc("chat.send", {"sessionKey": "main", "message": said, "idempotencyKey": "wish"})

    [waiting] = until(lambda: hub.rpc("approval.list")["approvals"])
    hub.rpc("approval.resolve", {"id": waiting["id"], "kind": "exec", "decision": "deny"})
    hub.rpc("agent.wait", {"runId": "wish", "timeoutMs": 60_000})

    assert "from outside" in told
    assert words in shown(messages_of(hub)[-1])
