"""E-mail: whose mail counts, what it says, threads, and a mailbox that is renumbered."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hub.core.clock import Clock
from hub.core.errors import Unavailable
from hub.core.schema import Invalid
from hub.messaging.contract import DeliveryState, Inbound, InboundMessage, OutboundMessage, Receipt
from integrations.channels.email.channel import BEING_READ, READ_TRIES, Email
from integrations.channels.email.head import HEAD_LIMIT_BYTES, MailHead, read_head
from integrations.channels.email.mail_text import read_mail
from integrations.channels.email.schema import CONFIG_SCHEMA
from integrations.channels.email.sender import is_automatic, is_vouched_for
from tests.channels.email_rig import SERVER, EmailRig, mail
from tests.channels.kit import Heard
from tests.integrations.channels.receiving import HastyClock
from tests.servers.shared import dovecot
from tests.until import until

ADA = "ada@ada.test"


def head_of(raw: str | EmailMessage) -> MailHead:
    head = read_head(raw.encode() if isinstance(raw, str) else raw.as_bytes())
    assert head is not None
    return head


def signed(results: str) -> MailHead:
    return head_of(f"Authentication-Results: {results}\nFrom: {ADA}\n\nhi")


PASSED = "dmarc=pass header.from=ada.test"
FAILED = "dmarc=fail header.from=ada.test"
BOUNCE = "spf=pass smtp.mailfrom="


@pytest.mark.parametrize(
    "results",
    [
        f"{SERVER}; {PASSED}",
        f"{SERVER} 1; spf=fail smtp.mailfrom=x.test; {PASSED}",
        f"{SERVER.upper()};\n dmarc=pass\n header.from=ADA.test",
        # as Gmail, Yahoo and Fastmail write it
        f"{SERVER};\n       dkim=pass header.i=@ada.test header.s=20230601 header.b=Fz/a+x=;\n       dkim=pass"
        " header.i=@relay.test header.s=x;\n       spf=pass (mx: domain of ada@ada.test designates 192.0.2.1 as"
        ' permitted sender) smtp.mailfrom="prvs=1=ada@ada.test";\n       dmarc=pass (p=NONE sp=NONE)'
        " header.from=ada.test",
        f"{SERVER}; spf=pass smtp.mailfrom=ada.test;dmarc=pass(p=NONE) header.from=ada.test;",
        f"{SERVER}; x-return-mx=pass header.domain=ada.test; x-return-mx=pass smtp.domain=ada.test; {PASSED};"
        " spf=pass smtp.mailfrom=ada.test; spf=none smtp.helo=mx.ada.test",
        f"{SERVER}; dmarc=pass (p=none,d=none) policy.published-domain-policy=none header.from=ada.test;"
        " iprev=pass smtp.remote-ip=2001:db8::1 (a.test); x-tls=pass smtp.version=TLSv1.3 smtp.bits=256/256",
        f'{SERVER}; dmarc / 1 (a (nested \\) one)) = pass reason="all; is \\" well" header . from = ada.test',
        f'{SERVER}; {BOUNCE}"x; dmarc=fail; y"@x.test; {PASSED}',
    ],
)
def test_a_sender_counts_when_our_server_says_that_dmarc_passed_for_the_domain(results: str) -> None:
    assert is_vouched_for(signed(results), ADA, SERVER)


@pytest.mark.parametrize(
    "results",
    [
        "mx.elsewhere.test; " + PASSED,
        f"{SERVER}; {FAILED}",
        f"{SERVER}; dmarc=pass header.from=evil.test",
        f"{SERVER}; dmarc=pass",
        f"{SERVER}; dmarc=pass header.from=x.ada.test",
        f"{SERVER}; dmarc=pass header.from=test",
        f"{SERVER}; dmarc=pass header.from=ada@ada.test",
        f"{SERVER}; dmarc=bestguesspass header.from=ada.test",
        # DKIM and SPF prove a domain that need not be that of From
        f"{SERVER}; dkim=pass header.d=ada.test",
        f"{SERVER}; dkim=pass header.i=@ada.test; spf=pass smtp.mailfrom=ada@ada.test; dmarc=none header.from=ada.test",
        # what a stranger chose, quoted by our server
        f'{SERVER}; {BOUNCE}"x; dmarc=pass header.from=ada.test; y"@evil.test; dmarc=none header.from=ada.test',
        f'{SERVER}; {BOUNCE}"x; {PASSED}"@evil.test',
        f'{SERVER}; {BOUNCE}"x smtp.mailfrom=ada.test y"@evil.test; {FAILED}',
        f'{SERVER}; {BOUNCE}"a\\"; {PASSED}; x=\\"b"@evil.test',
        f"{SERVER}; spf=pass (domain of (x); {PASSED}; y=pass (z)@evil.test) smtp.mailfrom=evil.test",
        f"{SERVER}; spf=pass (a (b) ; {PASSED}; c) smtp.mailfrom=evil.test",
        f"{SERVER}; spf=pass (a \\) ; {PASSED}; c) smtp.mailfrom=evil.test",
        f'{SERVER}; dkim=pass header.i="x; {PASSED}; y"@evil.test',
        f"{SERVER}; {BOUNCE}x(; {PASSED})@evil.test",
        # the same without its quotes or brackets: no grammar, or something that comes twice
        f"{SERVER}; {BOUNCE}x; {PASSED}; y@evil.test; {FAILED}",
        f"{SERVER}; {BOUNCE}x; {PASSED} header.from=evil.test",
        f"{SERVER}; {PASSED}; {FAILED}",
        f"{SERVER}; {PASSED}; dmarc=pass header.from=evil.test",
        f"{SERVER}; {PASSED}; spf=pass (",
        f'{SERVER}; {PASSED}; {BOUNCE}"x',
        f"{SERVER}; {PASSED}; {BOUNCE}x y",
        f"{SERVER}; {PASSED} )",
        f"{SERVER}; {PASSED}\u00a0",
        f"{SERVER}; none; {PASSED}",
        f"{SERVER}; none (dkim=pass header.d=ada.test)",
        f"{SERVER} x; {PASSED}",
        f"({SERVER}) evil.test; {PASSED}",
        f'"{SERVER}; {PASSED}; x"; {FAILED}',
        f"{SERVER}.evil.test; {PASSED}",
        f"evil.test; x={SERVER}; {PASSED}",
        ";",
        "",
    ],
)
def test_a_sender_whom_nobody_vouches_for_does_not_count(results: str) -> None:
    assert not is_vouched_for(signed(results), ADA, SERVER)


@pytest.mark.parametrize(
    "brought",
    [
        f"Authentication-Results: mx.relay.test; dkim=none\nAuthentication-Results: {SERVER}; {PASSED}\nFrom: {ADA}",
        f"Authentication-Results : nobody\nAuthentication-Results: {SERVER}; {PASSED}\nFrom: {ADA}",
        f"Authentication-Results: {SERVER}; {PASSED}\nAuthentication-Results: {SERVER}; dmarc=fail\nFrom: {ADA}",
        f"From: {ADA}",
    ],
)
def test_what_a_mail_brought_along_in_our_servers_name_does_not_count(brought: str) -> None:
    assert not is_vouched_for(head_of(f"{brought}\n\nhi"), ADA, SERVER)


_PIECES = [*'abz.@=;"\\()<>/, \t-+', "dmarc", "pass", "header.from", "ada.test", PASSED, SERVER]
_WORDS = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)


def quoted(text: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def commented(text: str) -> str:
    return "(" + re.sub(r"([\\()])", r"\\\1", text) + ")"


@given(
    local=_WORDS,
    comments=st.lists(_WORDS, min_size=4, max_size=4),
    selector=_WORDS,
    helo=_WORDS,
    verdict=st.sampled_from(["pass", "fail", "none", "temperror", "permerror"]),
    domain=st.sampled_from(["ada.test", "evil.test", "x.ada.test", "test"]),
    states_dmarc=st.booleans(),
)
def test_no_words_of_a_stranger_make_a_verdict_of_ours(
    local: str, comments: list[str], selector: str, helo: str, verdict: str, domain: str, states_dmarc: bool
) -> None:
    a, b, c, d = (commented(each) for each in comments)
    spf = f"spf=pass {a} smtp.mailfrom={quoted(local)}@evil.test {b} smtp.helo={quoted(helo)}"
    dkim = f"dkim=pass{c} header.i={quoted(selector)}@evil.test"
    dmarc = f"; dmarc={verdict} {d} header.from={domain}" if states_dmarc else ""

    vouched = is_vouched_for(signed(f"{a} {SERVER} {b}; {spf}; {dkim}{dmarc}"), ADA, SERVER)

    assert vouched is (states_dmarc and verdict == "pass" and domain == "ada.test")


@given(words=_WORDS)
def test_a_server_that_quotes_nothing_is_not_believed_against_its_own_verdict(words: str) -> None:
    assert not is_vouched_for(signed(f"{SERVER}; {BOUNCE}{words}@evil.test; {FAILED}"), ADA, SERVER)


@given(raw=st.binary(max_size=300))
def test_any_bytes_are_a_head_or_none(raw: bytes) -> None:
    for each in (raw, b"From: " + raw, b"Authentication-Results: " + SERVER.encode() + b";" + raw):
        if (head := read_head(each)) is not None:
            assert not is_vouched_for(head, head.sender() or ADA, SERVER)


@pytest.mark.parametrize(
    ("stated", "sender"),
    [
        ("From: Ada <Ada@Ada.test>", ADA),
        ("From: =?utf-8?q?Ada?= Ädä (who (else)?) < ada@ada.test > (x)", ADA),
        (f'From: "{ADA}" <eve@eve.test>', "eve@eve.test"),
        (f'From: "{ADA}, <" <eve@eve.test>', "eve@eve.test"),
        (f"From: ({ADA}) eve@eve.test", "eve@eve.test"),
        (f"From: {ADA}, eve@eve.test", None),
        (f"From: {ADA} <eve@eve.test>", None),
        (f"From: <{ADA}> <eve@eve.test>", None),
        (f"From: all: {ADA};", None),
        (f"From: <@eve.test:{ADA}>", None),
        (f"From: {ADA}\nFrom: eve@eve.test", None),
        (f"From: {ADA}\nFrom : eve@eve.test", None),
        ("From: =?utf-8?q?ada=40ada=2Etest?=", None),
        ("From: =?utf-8?q?ada?=@ada.test", None),
        (f"From: {'x ' * 1_000}<{ADA}>", None),
        ("Subject: none", None),
    ],
)
def test_there_is_one_sender_or_none(stated: str, sender: str | None) -> None:
    assert head_of(f"{stated}\n\nhi").sender() == sender


@pytest.mark.parametrize(
    "raw",
    [
        f"Subject: x\rFrom: {ADA}\n\nhi",
        f"Authentication-Results: {SERVER}; dmarc=fail\0\nAuthentication-Results: {SERVER}; {PASSED}\nFrom: {ADA}\n\n",
        f"From: eve@eve.test\0\nFrom: {ADA}\n\nhi",
        f"X:\n y\rFrom: eve@eve.test\nFrom: {ADA}\n\nhi",
        f"FROM\0 : eve@eve.test\nFrom: {ADA}\n\nhi",
        f"From: {ADA}\nX: {'x' * HEAD_LIMIT_BYTES}\n\nhi",
    ],
)
def test_what_is_no_head_tells_of_nobody(raw: str) -> None:
    assert read_head(raw.encode()) is None


@pytest.mark.parametrize("line", ["no field", "X: \0", "X: a\rb", "From ada Tue Nov 24 12:00:00 2026", "Ä: x", ": x"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_line_that_is_no_field_is_left_out(line: str, place: int) -> None:
    lines = [f"Authentication-Results: {SERVER}; {PASSED}", f"From: {ADA}"]
    lines.insert(place, line)

    head = head_of("\r\n".join([*lines, "", "From: eve@eve.test"]))

    assert head.sender() == ADA
    assert is_vouched_for(head, ADA, SERVER)


@pytest.mark.parametrize(
    "header", ["Auto-Submitted: auto-replied", "Precedence: bulk", "List-Id: <l.test>", "Return-Path: <>"]
)
def test_programs_and_lists_are_not_answered(header: str) -> None:
    assert is_automatic(head_of(f"{header}\nFrom: {ADA}\n\nhi"))
    assert not is_automatic(head_of(f"Auto-Submitted: no\nFrom: {ADA}\n\nhi"))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("Yes.\n\nOn Mon, 23 Nov 2026 at 10:00, Home\n<home@home.test> wrote:\n> Shall I?\n", "Yes."),
        ("Yes.\n> quoted\nAnd no.\n-- \nAda\n", "Yes.\nAnd no."),
        ("Am Montag schrieb Home <h@home.test>:\n> ja?", ""),
    ],
)
def test_what_was_written_before_is_not_said_again(body: str, text: str) -> None:
    assert read_mail(mail(body).as_bytes(), "1:1").text == text


@pytest.mark.parametrize("charset", ["nonsense", "punycode", "utf-8", "idna"])
def test_a_page_is_read_as_text_and_by_no_codec_but_those_of_the_web(charset: str) -> None:
    raw = f"Content-Type: text/html; charset={charset}\n\n<p>Hello <b>there</b></p><script>x</script>"

    assert read_mail(raw.encode(), "1:1").text == "Hello there"


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


PARTS = "Content-Type: multipart/mixed; boundary=x\n\n" + "--x\n\n" * 30_000
PARAMETERS = f"Content-Type: text/plain; {'; '.join(f'a*{n}*=b' for n in range(20_000))}\n\nhi"
PUNYCODE = "Content-Type: text/plain; charset=punycode\n\n" + "a-" + "b" * 400_000
BOMBS = {"parts": PARTS, "parameters": PARAMETERS, "punycode": PUNYCODE}


def bomb(content: str, who: str = "ada", *, sender: str | None = None) -> bytes:
    """Return a mail that takes long to read, as our server hands it out."""
    passed = f"Authentication-Results: {SERVER}; dmarc=pass header.from={who}.test"
    return f"{passed}\nFrom: {sender or ''}<{who}@{who}.test>\nMessage-ID: <{who}@x>\n{content}".encode()


@pytest.mark.parametrize("content", [*BOMBS.values(), "\n\nhi"], ids=[*BOMBS, "from"])
async def test_a_strangers_mail_is_not_read_and_the_next_one_is(
    rig: EmailRig, channel: Email, heard: Heard, content: str
) -> None:
    heard.strangers.append("email:address:eve@eve.test")
    sender = "x " * 400_000 if content == "\n\nhi" else None
    dovecot().deliver(rig.mailbox(), bomb(content, "eve", sender=sender))
    rig.delivers(mail("the next"))

    await until(lambda: "the next" in texts(heard))

    assert texts(heard) in (["", "the next"], ["the next"])
    assert rig.reader.mails == ["the next"]


@pytest.mark.parametrize(("kind", "said"), [("parts", "more than 100 parts"), ("parameters", "processor time")])
async def test_a_mail_that_takes_too_much_to_read_is_said_to_be_passed_over(
    rig: EmailRig, channel: Email, heard: Heard, kind: str, said: str
) -> None:
    dovecot().deliver(rig.mailbox(), bomb(BOMBS[kind]))
    rig.delivers(mail("the next"))

    await until(lambda: "the next" in texts(heard), 100)  # it takes seconds of a processor that others use too

    assert said in texts(heard)[0]
    assert "could not be read" in texts(heard)[0]
    assert first(heard).sender == "email:address:ada@ada.test"


async def test_a_mail_with_which_the_hub_ended_is_not_read_again(rig: EmailRig, channel: Email, heard: Heard) -> None:
    begun = await moved_from(None, heard)
    rig.delivers(mail("one"))
    position = await moved_from(begun, heard)
    await channel.stop()
    validity, _, uid = position.partition(":")
    await heard.keep_cursor(f"{validity}:{int(uid) + 1} {READ_TRIES}", BEING_READ)
    rig.delivers(mail("two"))
    rig.delivers(mail("three"))

    await channel.start(heard)
    await until(lambda: "three" in texts(heard))

    assert "the hub stopped 3 times while it was reading it" in texts(heard)[1]
    assert rig.reader.mails == ["one", "three"]


@pytest.mark.parametrize("fails", ["receive", "keep"])
async def test_a_mail_that_could_not_be_kept_is_read_again(rig: EmailRig, tmp_path: Path, fails: str) -> None:
    failing = Failing(fails)
    channel = rig.channel(tmp_path, HastyClock())
    await channel.start(failing)
    await moved_from(None, failing)

    rig.delivers(mail("one"))
    rig.delivers(mail("two"))
    await until(lambda: "two" in texts(failing))
    await channel.stop()

    assert failing.fails == ""
    assert texts(failing) == (["one", "two"] if fails == "receive" else ["one", "one", "two"])


class Failing(Heard):
    """A receiver whose disk is full once: when a mail is received, or when it is kept that it was."""

    def __init__(self, fails: str) -> None:
        super().__init__()
        self.fails = fails

    async def __call__(self, inbound: Inbound) -> Receipt:
        self._fail("receive")
        return await super().__call__(inbound)

    async def keep_cursor(self, value: str, name: str = "position") -> None:
        if name == "position" and self.inbound:
            self._fail("keep")
        await super().keep_cursor(value, name)

    def _fail(self, at: str) -> None:
        if self.fails == at:
            self.fails = ""
            raise Unavailable("the disk is full")


async def moved_from(position: str | None, heard: Heard) -> str:
    """Wait until the cursor is elsewhere, and return where."""
    async with asyncio.timeout(30):
        while (found := await heard.cursor()) in (None, position):  # noqa: ASYNC110  no event tells of it
            await asyncio.sleep(0.005)
    assert found is not None
    return found


async def test_a_stop_while_a_mail_is_read_says_nothing_of_the_mail(
    rig: EmailRig, channel: Email, heard: Heard
) -> None:
    rig.reader.hangs = True
    rig.delivers(mail("one"))
    await until(lambda: rig.reader.mails == ["one"])
    await channel.stop()
    rig.reader.hangs = False

    await channel.start(heard)
    await until(lambda: texts(heard) == ["one"])


def texts(heard: Heard) -> list[str]:
    return [each.text for each in heard.inbound if isinstance(each, InboundMessage)]
