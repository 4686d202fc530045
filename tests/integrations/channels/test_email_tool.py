"""The tool `mail`: what it finds and reads in a mailbox, and whom the owner is asked about."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import Clock
from hub.integration.json_storage import JsonStorage
from hub.tools.approval import ApprovalDecision, ApprovalState, Ask
from hub.tools.contract import ToolResult
from integrations.channels.email.channel import Email
from integrations.channels.email.tool import MailTool
from tests.channels.email_rig import EmailRig, mail
from tests.integrations.tools.standing import Standing
from tests.servers.shared import dovecot

SENDER: dict[str, Any] = {"from": 'nobody" SEEN'}


class Correspondence:
    """A hub with the tool over a real mailbox, and an owner who says yes or no."""

    def __init__(self, standing: Standing, rig: EmailRig) -> None:
        self.standing = standing
        self.rig = rig
        self.asks: list[str] = []
        self.says = True

    async def do(self, action: str, *, tainted: bool = False, **more: Any) -> ToolResult:
        authority = self.standing.owner.narrow(tainted=tainted)
        return await self.standing.call("mail", {"action": action, **more}, authority=authority)

    async def decide(self, ask: Ask) -> ApprovalDecision:
        self.asks.append(ask.text)
        return ApprovalDecision(self.says, ApprovalState.APPROVED if self.says else ApprovalState.DENIED)


@pytest.fixture
async def letters(tmp_path: Path) -> AsyncIterator[Correspondence]:
    rig = EmailRig()
    await rig.start()
    channel = rig.channel(tmp_path, Clock())
    assert isinstance(channel, Email)
    standing = Standing(tmp_path / "home")
    made = Correspondence(standing, rig)
    standing.tools.ask = made.decide
    tool = MailTool({"default": channel}, JsonStorage(tmp_path / "recipients.json"))
    await tool.load()
    standing.tools.register(tool.tool())
    yield made
    await rig.stop()


async def test_mails_are_found_and_read_as_words_from_outside(letters: Correspondence) -> None:
    letters.rig.delivers(mail("The boiler\nis fine.", Subject="Heizung prüfen", media=b"x"))
    letters.rig.delivers(mail('Say "yes" \\ no', Subject='A "quoted" one\\'))

    everything = await letters.do("search")
    by_words = await letters.do("search", subject='A "quoted" one\\', since="2020-01-01", unread=True)
    umlaut = await letters.do("search", subject="prüfen", tainted=True)
    none = await letters.do("search", **SENDER)
    read = await letters.do("read", id=1, tainted=True)
    gone = await letters.do("read", id=99)

    assert [line.rpartition(" · ")[2] for line in everything.output.splitlines() if " · " in line] == [
        'A "quoted" one\\',
        "Heizung prüfen",
    ]
    assert "\n2: " in by_words.output
    assert "\n1: " in umlaut.output
    assert "There are no such mails." in none.output
    assert "Subject: Heizung prüfen\nAttached: a.png\n\nThe boiler\nis fine." in read.output
    assert [each.trusted for each in (everything, read)] == [False, False]
    assert gone.is_error
    assert letters.asks == []


async def test_a_mail_to_somebody_new_asks_and_under_words_from_outside_each_one_does(letters: Correspondence) -> None:
    letter: dict[str, Any] = {"to": "ada@ada.test", "subject": "Boiler\r\nBcc: eve@eve.test", "text": "It is fine."}
    letters.says = False
    refused = await letters.do("send", **letter)
    letters.says = True
    first = await letters.do("send", **letter)
    second = await letters.do("send", **letter)
    letters.says = False
    tainted = await letters.do("send", tainted=True, **letter)

    assert [each.is_error for each in (refused, first, second, tainted)] == [True, False, False, True]
    assert [each["To"] for each in letters.rig.smtp.mails] == ["ada@ada.test"] * 2
    assert [each["Bcc"] for each in letters.rig.smtp.mails] == [None] * 2
    assert len(letters.asks) == 3
    assert "sends a mail to ada@ada.test, to whom you have not let any be sent before" in letters.asks[0]
    assert "text that others wrote is in this conversation" in letters.asks[2]
    assert all("It is fine." in each for each in letters.asks)


@pytest.mark.parametrize("to", ["ada", "a@b.test, c@d.test", "a@b.test\nBcc: x@y.test", "Ada <a@b.test>", ""])
async def test_what_is_no_address_is_refused_before_anybody_is_asked(letters: Correspondence, to: str) -> None:
    result = await letters.do("send", to=to, subject="x", text="y")

    assert result.is_error
    assert letters.asks == []


@pytest.mark.parametrize(
    ("action", "given", "missing"),
    [("read", {}, "id"), ("send", {}, "to"), ("send", {"to": "a@b.test", "subject": "x"}, "text")],
)
async def test_what_is_missing_is_said_before_anybody_is_asked(
    letters: Correspondence, action: str, given: dict[str, Any], missing: str
) -> None:
    result = await letters.do(action, **given)

    assert f"{missing}: needed for the action {action}" in result.output
    assert letters.asks == []


async def test_a_mail_that_the_server_refuses_leaves_its_recipient_unknown(letters: Correspondence) -> None:
    letters.rig.smtp.faults.append("550 5.1.1 no such person")

    failed = await letters.do("send", to="ada@ada.test", subject="x", text="y")
    await letters.do("send", to="ada@ada.test", subject="x", text="y")

    assert "the mail was not sent: 550" in failed.output
    assert len(letters.asks) == 2


async def test_a_mailbox_that_refuses_is_named_with_what_its_server_said(letters: Correspondence) -> None:
    letters.rig.revokes()

    result = await letters.do("search")

    assert f"the mailbox at 127.0.0.1:{dovecot().port} cannot be read: 127.0.0.1 does not accept" in result.output
    assert ": [AUTHENTICATIONFAILED] Authentication failed." in result.output
