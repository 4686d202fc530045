"""SMS through Twilio: its signatures, what it delivers and what it could not, and the outcome of what is sent."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlencode

import pytest

from hub.core.errors import HubError, Unavailable
from hub.core.repairs import Repair
from hub.core.schema import SchemaError
from hub.gateway.calls.routes import RouteTable
from hub.messaging.contract import (
    Address,
    ChannelState,
    DeliveryState,
    Inbound,
    InboundMessage,
    Media,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    Receipt,
)
from hub.storage.homedir import Home
from integrations.channels.sms import setup
from integrations.channels.sms.channel import SmsChannel
from integrations.channels.sms.schema import CONFIG_SCHEMA
from integrations.channels.twilio_signature import HEADER, SETTINGS_HEADER, is_genuine, sign
from tests.channels.kit import Heard, HurriedClock
from tests.channels.sms_rig import SmsRig
from tests.channels.webhook_host import WebhookHost
from tests.hosting import host_on
from tests.integrations.channels.rig import Rig
from tests.servers.twilio_server import ADA, EVE, NUMBER, PUBLIC_URL, SID, TOKEN, TwilioServer
from tests.until import until

WITH_ADA = Address("sms", ADA)
URL = f"{PUBLIC_URL}/sms/default"


class FullAtFirst(Heard):
    """A receiver that cannot store the first message at first."""

    full = 2

    async def __call__(self, inbound: Inbound) -> Receipt:
        if self.full:
            self.full -= 1
            raise Unavailable("the disk is full")
        return await super().__call__(inbound)


@pytest.fixture
async def platform() -> AsyncIterator[SmsRig]:
    rig = SmsRig()
    await rig.start()
    yield rig
    await rig.stop()


@pytest.fixture
def server(platform: SmsRig) -> TwilioServer:
    return platform.server


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def channel(platform: SmsRig, tmp_path: Path, heard: Heard) -> AsyncIterator[SmsChannel]:
    channel = cast(SmsChannel, platform.channel(tmp_path, HurriedClock()))
    await channel.start(heard)
    await until(lambda: "position" in heard._cursors)
    yield channel
    await channel.stop()


# --- signatures ---


def test_the_signature_is_the_one_of_twilios_documentation() -> None:
    """The example of https://www.twilio.com/docs/usage/security."""
    url = "https://mycompany.com/myapp.php?foo=1&bar=2"
    form = {"CallSid": "CA1234567890ABCDE", "Caller": "+12349013030", "Digits": "1234", "From": "+12349013030"}

    assert sign("12345", url, [*form.items(), ("To", "+18005551212")]) == "0/KCTR6DLpKmkAf8muzZqo1nDgQ="


@pytest.mark.parametrize("address", [URL, URL.replace(".test", ".test:443"), URL.replace(".test", ".test:8443")])
def test_a_port_is_signed_or_not(address: str) -> None:
    fields = [("Body", "a b&c=ü"), ("Body", "second"), ("From", ADA)]
    body = urlencode(fields).encode()

    for signed in (address, URL):
        assert is_genuine(body, {HEADER: sign(TOKEN, signed, fields)}, address, TOKEN, None)
    assert not is_genuine(body, {HEADER: sign(TOKEN, URL + "/x", fields)}, address, TOKEN, None)


def test_a_webhook_rule_signs_with_its_own_secret_and_sha256() -> None:
    fields = [("From", ADA)]
    body, settings = urlencode(fields).encode(), {SETTINGS_HEADER: "key=KY1,algorithm=HMAC_SHA256"}
    good = {**settings, HEADER: sign("shared", URL, fields, "sha256")}

    assert is_genuine(body, good, URL, TOKEN, "shared")
    assert not is_genuine(body, good, URL, TOKEN, None)
    assert not is_genuine(body, {**settings, HEADER: sign(TOKEN, URL, fields)}, URL, TOKEN, "shared")
    assert not is_genuine(body, {**good, SETTINGS_HEADER: "key=KY1,algorithm=NONE"}, URL, TOKEN, "shared")


@pytest.mark.parametrize("body", [b"\xff=1", b"&".join(b"a=1" for _ in range(300))])
def test_what_is_no_form_is_refused(body: bytes) -> None:
    assert not is_genuine(body, {HEADER: sign(TOKEN, URL, [])}, URL, TOKEN, None)


# --- in ---


@pytest.mark.usefixtures("channel")
async def test_texts_and_pictures_are_read_and_answered_with_an_empty_response(
    server: TwilioServer, heard: Heard
) -> None:
    server.says("hello")
    server.says("look", media=b"a picture")
    server.says("STOP", OptOutType="STOP")
    await until(lambda: len(server.answers) == 3)

    text, picture = cast(list[InboundMessage], sorted(heard.inbound, key=lambda e: cast(InboundMessage, e).text))
    assert (text.text, text.sender, text.address) == ("hello", f"sms:user:{ADA}", WITH_ADA)
    assert (picture.media[0].kind, picture.media[0].mime_type) == (MediaKind.IMAGE, "image/png")
    assert set(server.answers) == {(200, "<Response/>")}


async def test_a_file_is_fetched_with_the_login_and_from_twilios_servers_alone(
    server: TwilioServer, channel: SmsChannel, heard: Heard
) -> None:
    server.says("look", media=b"a picture")
    await until(lambda: bool(heard.inbound))
    message = cast(InboundMessage, heard.inbound[0])

    pieces = [each async for each in channel.fetch(WITH_ADA, message.media[0])]
    with pytest.raises(HubError, match="not on its servers"):
        [each async for each in channel.fetch(WITH_ADA, Media(MediaKind.IMAGE, "https://twilio.com.evil.test/1"))]

    assert b"".join(pieces) == b"a picture"


async def test_what_twilio_could_not_deliver_is_read_from_its_list_with_its_files(
    platform: SmsRig, server: TwilioServer, tmp_path: Path, channel: SmsChannel, heard: Heard
) -> None:
    await channel.stop()
    server.hub = "http://127.0.0.1:1"
    server.says("look", media=b"a picture")
    server.says("and this", EVE, media=b"hers")
    heard.strangers.append(f"sms:user:{EVE}")
    again = cast(SmsChannel, platform.channel(tmp_path, HurriedClock()))
    await again.start(heard)
    await until(lambda: len(heard.inbound) == 2)
    await again.stop()

    mine, hers = cast(list[InboundMessage], heard.inbound)
    assert (mine.text, len(mine.media), hers.text, len(hers.media)) == ("look", 1, "and this", 0)


async def test_what_could_not_be_stored_is_read_again_soon(
    platform: SmsRig, server: TwilioServer, tmp_path: Path
) -> None:
    heard = FullAtFirst()
    channel = cast(SmsChannel, platform.channel(tmp_path, HurriedClock()))
    await channel.start(heard)
    await until(lambda: "position" in heard._cursors)
    server.says("hello")
    await until(lambda: bool(heard.inbound))
    await channel.stop()

    assert server.answers[0][0] == 503


async def test_what_was_said_before_the_set_up_is_not_answered(
    platform: SmsRig, server: TwilioServer, tmp_path: Path, heard: Heard
) -> None:
    server.ahead_s = -60.0
    server.hub = "http://127.0.0.1:1"
    server.says("long ago")
    channel = cast(SmsChannel, platform.channel(tmp_path, HurriedClock()))
    await channel.start(heard)
    await until(lambda: "position" in heard._cursors)
    await channel._read()
    await channel.stop()

    assert heard.inbound == []


# --- out ---


@pytest.mark.parametrize(
    ("fault", "state", "says"),
    [
        ({"status": 400, "code": 21610}, DeliveryState.PERMANENT, "STOP"),
        ({"status": 400, "code": 21614}, DeliveryState.PERMANENT, "takes no SMS"),
        ({"status": 400, "code": 21606}, DeliveryState.PERMANENT, "as told (code 21606)"),
        ({"status": 429, "code": 20429, "headers": {"Retry-After": "3"}}, DeliveryState.TRANSIENT, "20429"),
        ({"status": 500, "code": 20500}, DeliveryState.TRANSIENT, "20500"),
        ({"status": 502}, DeliveryState.UNKNOWN, "502"),
        ({"done": True}, DeliveryState.UNKNOWN, "did not answer"),
    ],
)
async def test_each_failure_means_what_it_means(
    server: TwilioServer, channel: SmsChannel, fault: dict[str, Any], state: DeliveryState, says: str
) -> None:
    server.fail(**fault)

    delivery = await channel.send(OutboundMessage("1", WITH_ADA, "hello"))

    assert delivery.state is state
    assert says in (delivery.error or "")
    assert delivery.retry_after_s == (3.0 if "headers" in fault else None)


async def test_what_may_have_arrived_is_looked_up_and_no_other_is_taken_for_it(
    server: TwilioServer, channel: SmsChannel, tmp_path: Path
) -> None:
    (tmp_path / "a.pdf").write_text("a")
    media = OutboundMedia(MediaKind.FILE, str(tmp_path / "a.pdf"), "application/pdf")
    text, file = OutboundMessage("2", WITH_ADA, "**OK**"), OutboundMessage("3", WITH_ADA, "here", media=(media,))
    await channel.send(OutboundMessage("1", WITH_ADA, "OK"))
    server.says("OK")
    missing = await channel.find(text, time.time())
    for message in (text, file):
        server.fail(done=True)
        await channel.send(message)

    found = [await channel.find(message, time.time()) for message in (text, file)]

    assert missing is None
    assert [each and each.platform_ids for each in found] == [(each["sid"],) for each in server.sent[1:]]


async def test_what_is_known_as_sent_is_found_though_the_outbox_was_killed_before_it_knew(
    server: TwilioServer, channel: SmsChannel
) -> None:
    message = OutboundMessage("1", WITH_ADA, "hello")
    await channel.send(message)

    found = await channel.find(message, time.time())

    assert found is not None
    assert found.platform_ids == (server.sent[0]["sid"],)


@pytest.mark.parametrize(
    ("mime", "size", "is_mms"),
    [("image/png", 9, True), ("image/png", 5_000_001, False), ("application/pdf", 9, False)],
)
async def test_a_picture_is_an_mms_and_another_file_is_a_link(
    server: TwilioServer, channel: SmsChannel, tmp_path: Path, *, mime: str, size: int, is_mms: bool
) -> None:
    (tmp_path / "a.bin").write_bytes(b"x" * size)
    media = OutboundMedia(MediaKind.FILE, str(tmp_path / "a.bin"), mime)

    await channel.send(OutboundMessage("1", WITH_ADA, "here", media=(media,)))
    await until(lambda: server.downloads == [b"x" * size])

    (sent,) = server.sent
    assert ("MediaUrl" in sent) is is_mms
    assert sent["Body"].startswith("here")


async def test_what_the_account_lacks_is_said(platform: SmsRig, server: TwilioServer, channel: SmsChannel) -> None:
    assert (await channel.probe())["missing"] == []
    server.hook = "/elsewhere"
    elsewhere = (await channel.probe())["missing"]
    server.number = "+1999"
    gone = (await channel.probe())["missing"]

    assert elsewhere == [f"Its messages are not delivered to {URL}."]
    assert gone == [f"The number {NUMBER} is not in this account."]


async def test_a_suspended_account_fails(platform: SmsRig, server: TwilioServer, tmp_path: Path, heard: Heard) -> None:
    server.status = "suspended"
    channel = platform.channel(tmp_path, HurriedClock())
    await channel.start(heard)
    await until(lambda: bool(heard.errors))
    await channel.stop()

    assert "suspended" in heard.errors[0]


# --- set-up ---


def section(**more: Any) -> dict[str, Any]:
    return {"account_sid": SID, "auth_token": TOKEN, "number": NUMBER, "public_url": PUBLIC_URL, **more}


async def test_each_number_is_set_up_and_a_message_that_does_not_arrive_is_a_repair(rig: Rig, tmp_path: Path) -> None:
    def repairs() -> list[Repair]:
        return [each for each in rig.repairs.all() if each.source == "sms"]

    parts = cast(Any, rig)
    parts.home, parts.gateway = Home(tmp_path), SimpleNamespace(routes=RouteTable())
    host, registrations = host_on(parts, "sms")
    async with TwilioServer() as server:
        good = section(api_root=server.url)
        await setup(host, CONFIG_SCHEMA([{**good, "account": "broken", "auth_token": "correct horse battery"}, good]))
        states = {each.channel.account: each for each in rig.channels.all()}
        await rig.until(lambda: states["default"].status.state is ChannelState.CONNECTED)
        await rig.until(lambda: states["broken"].status.state is ChannelState.FAILED)
        web = WebhookHost(lambda: [parts.gateway.routes.match("POST", "/sms/default/status").route])
        server.hub = await web.start()

        await server.deliver("/sms/default/status", fate("undelivered", ErrorCode="30003"))
        (repair,) = repairs()
        await server.deliver("/sms/default/status", fate("delivered"))
        left = repairs()
        await server.deliver("/sms/default/status", {**fate("failed"), "To": ""})
        await web.stop()
        await registrations.undo_all()

    assert ADA in repair.text
    assert "cannot be reached (code 30003)" in repair.text
    assert left == []


def fate(state: str, **more: str) -> dict[str, str]:
    return {"MessageSid": "SM1", "MessageStatus": state, "To": ADA, **more}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"number": None}, "number .* or messaging_service_sid .*, and only one of them"),
        ({"number": "0157"}, r"\+4915712345678"),
        ({"account_sid": "SID"}, "32 hexadecimal"),
        ({"public_url": "http://hub.test"}, "https"),
        ({"auth_token": "short"}, "guessed"),
    ],
)
def test_a_section_that_cannot_work_says_why(change: dict[str, Any], says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        CONFIG_SCHEMA([{key: value for key, value in section(**change).items() if value is not None}])
