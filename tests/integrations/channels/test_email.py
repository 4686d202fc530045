"""E-mail: whose mail counts, what it says, threads, and a mailbox that is numbered anew."""

from __future__ import annotations

from collections.abc import AsyncIterator
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path

import pytest

from hub.core.clock import Clock
from hub.core.schema import Invalid
from hub.messaging.contract import DeliveryState, InboundMessage, OutboundMessage
from integrations.channels.email.channel import Email
from integrations.channels.email.mail_text import text_of
from integrations.channels.email.schema import CONFIG_SCHEMA
from integrations.channels.email.sender import is_automatic, is_vouched_for, sender_of
from tests.channels.email_rig import SERVER, EmailRig, mail
from tests.channels.kit import Heard
from tests.until import until

ADA = "ada@ada.test"


def parsed(raw: str) -> EmailMessage:
    return BytesParser(EmailMessage, policy=policy.default).parsebytes(raw.encode())


@pytest.mark.parametrize(
    "results",
    [
        f"{SERVER}; dmarc=pass header.from=ada.test",
        f"{SERVER}; dkim=pass (good key) header.d=ada.test header.s=x",
        f"{SERVER}; dkim=pass header.i=@ada.test",
        f"{SERVER} 1; spf=fail smtp.mailfrom=x.test; dkim=pass header.d=ada.test",
        f"{SERVER}; spf=pass smtp.mailfrom=bounce@ada.test",
        f"{SERVER.upper()};\n dkim=pass\n header.d=ADA.test",
    ],
)
def test_a_sender_counts_when_our_server_vouches_for_the_domain(results: str) -> None:
    assert is_vouched_for(mail("hi", results=results.replace("\n", "")), ADA, SERVER)


@pytest.mark.parametrize(
    "results",
    [
        None,
        "mx.elsewhere.test; dmarc=pass header.from=ada.test",
        f"{SERVER}; dmarc=fail header.from=ada.test",
        f"{SERVER}; dkim=pass header.d=evil.test",
        f"{SERVER}; dkim=pass header.d=a.test",
        f"{SERVER}; dkim=pass header.d=test",
        f"{SERVER}; dkim=pass header.d=evil.ada.test.evil.test",
        f"{SERVER}; spf=pass smtp.mailfrom=ada@evil.test",
        f"{SERVER}; dmarc=pass header.from=evil.test",
        f"{SERVER}; none (dkim=pass header.d=ada.test)",
        f"{SERVER}.evil.test; dkim=pass header.d=ada.test",
        f"evil.test; x={SERVER}; dkim=pass header.d=ada.test",
        ";",
    ],
)
def test_a_sender_whom_nobody_vouches_for_does_not_count(results: str | None) -> None:
    assert not is_vouched_for(mail("hi", results=results), ADA, SERVER)


def test_what_a_mail_brought_along_in_our_servers_name_does_not_count() -> None:
    forged = parsed(
        "Authentication-Results: mx.relay.test; dkim=none\n"
        f"Authentication-Results: {SERVER}; dkim=pass header.d=ada.test\nFrom: {ADA}\n\nhi"
    )

    assert not is_vouched_for(forged, ADA, SERVER)


@pytest.mark.parametrize(
    ("stated", "sender"),
    [
        ("From: Ada <Ada@Ada.test>", ADA),
        (f'From: "{ADA}" <eve@eve.test>', "eve@eve.test"),
        (f"From: {ADA}, eve@eve.test", None),
        (f"From: {ADA}\nFrom: eve@eve.test", None),
        ("From: =?utf-8?q?ada=40ada=2Etest?=", None),
        ("Subject: none", None),
    ],
)
def test_there_is_one_sender_or_none(stated: str, sender: str | None) -> None:
    assert sender_of(parsed(f"{stated}\n\nhi")) == sender


@pytest.mark.parametrize(
    "header", ["Auto-Submitted: auto-replied", "Precedence: bulk", "List-Id: <l.test>", "Return-Path: <>"]
)
def test_programs_and_lists_are_not_answered(header: str) -> None:
    assert is_automatic(parsed(f"{header}\nFrom: {ADA}\n\nhi"))
    assert not is_automatic(parsed(f"Auto-Submitted: no\nFrom: {ADA}\n\nhi"))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("Yes.\n\nOn Mon, 23 Nov 2026 at 10:00, Home\n<home@home.test> wrote:\n> Shall I?\n", "Yes."),
        ("Yes.\n> quoted\nAnd no.\n-- \nAda\n", "Yes.\nAnd no."),
        ("Am Montag schrieb Home <h@home.test>:\n> ja?", ""),
    ],
)
def test_what_was_written_before_is_not_said_again(body: str, text: str) -> None:
    assert text_of(mail(body)) == text


def test_a_page_is_read_as_text() -> None:
    page = parsed("Content-Type: text/html; charset=nonsense\n\n<p>Hello <b>there</b></p><script>x</script>")

    assert text_of(page) == "Hello there"


@pytest.fixture
async def rig() -> AsyncIterator[EmailRig]:
    rig = EmailRig()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def channel(rig: EmailRig, heard: Heard, tmp_path: Path) -> AsyncIterator[Email]:
    channel = rig.channel(tmp_path, Clock())
    assert isinstance(channel, Email)
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
    yield channel
    await channel.stop()


def first(heard: Heard) -> InboundMessage:
    (message, *_) = heard.inbound
    assert isinstance(message, InboundMessage)
    return message


async def test_an_answer_belongs_to_the_thread_of_the_mail(rig: EmailRig, channel: Email, heard: Heard) -> None:
    id = rig.delivers(mail("When?", Subject="The boiler"))
    await until(lambda: bool(heard.inbound))

    delivery = await channel.send(OutboundMessage("o1", first(heard).address, "At **ten**."))

    (sent,) = rig.smtp.mails
    assert delivery.state is DeliveryState.DELIVERED
    assert first(heard).text == "The boiler\n\nWhen?"
    assert (sent["Subject"], sent["In-Reply-To"], sent["Auto-Submitted"]) == ("Re: The boiler", id, "auto-replied")
    assert sent["Message-ID"].startswith("<o1@")
    page = sent.get_body(("html",))
    assert page is not None
    assert "<strong>ten</strong>" in page.get_content()


async def test_a_mail_that_nobody_vouches_for_has_no_identity(rig: EmailRig, channel: Email, heard: Heard) -> None:
    rig.delivers(mail("Open the door", results=None))
    await until(lambda: bool(heard.inbound))

    assert first(heard).sender == ""


async def test_a_mailbox_that_is_numbered_anew_is_read_on_and_nothing_new_is_lost(
    rig: EmailRig, channel: Email, heard: Heard
) -> None:
    old = rig.delivers(mail("old"))
    await until(lambda: bool(heard.inbound))
    await channel.stop()
    rig.renumber()
    new = rig.delivers(mail("new"))

    await channel.start(heard)
    await until(lambda: new in [each.message_id for each in heard.inbound if isinstance(each, InboundMessage)])

    assert {each.message_id for each in heard.inbound if isinstance(each, InboundMessage)} == {old, new}


async def test_a_wrong_password_takes_a_person(rig: EmailRig, channel: Email, heard: Heard) -> None:
    rig.smtp.password = "another"

    delivery = await channel.send(OutboundMessage("o1", rig.address(), "hello"))
    probe = await channel.probe()

    assert delivery.state is DeliveryState.TRANSIENT
    assert not probe["ok"]
    assert "535" in probe["error"]
    assert "does not accept" in heard.errors[0]


async def test_two_programs_that_answer_each_other_end_and_an_answer_tried_again_counts_once(
    rig: EmailRig, channel: Email
) -> None:
    states = [
        (await channel.send(OutboundMessage(str(number), rig.address(thread="<t@x>"), "hi"))).state
        for number in (*range(20), 19, 20)
    ]

    assert states[-3:] == [DeliveryState.DELIVERED, DeliveryState.DELIVERED, DeliveryState.PERMANENT]


@pytest.mark.parametrize("address", ["home", "home@", "ho me@x.test"])
def test_an_address_that_is_none_is_an_error_of_the_configuration(address: str) -> None:
    account = {"address": address, "password": "x", "imap_host": "i", "smtp_host": "s", "authserv_id": "m"}

    with pytest.raises(Invalid):
        CONFIG_SCHEMA([account])
