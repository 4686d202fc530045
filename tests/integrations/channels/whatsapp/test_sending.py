"""What goes out through WhatsApp, and the outcome when the Graph API or the network fails."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hub.core.errors import HubError
from hub.core.repairs import Repair
from hub.core.schema import SchemaError
from hub.gateway.calls.routes import RouteTable
from hub.messaging.contract import (
    Address,
    Button,
    ChannelState,
    Delivery,
    DeliveryState,
    Media,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
)
from hub.storage.homedir import Home
from integrations.channels.whatsapp import setup
from integrations.channels.whatsapp.channel import WhatsAppChannel
from integrations.channels.whatsapp.schema import CONFIG_SCHEMA
from tests.channels.kit import Heard, HurriedClock
from tests.channels.webhook_host import WebhookHost
from tests.hosting import host_on
from tests.integrations.channels.rig import Rig
from tests.servers.whatsapp_server import ADA, APP_SECRET, EVES_PHONE, NUMBER_ID, TOKEN, VERIFY_TOKEN, WhatsAppServer
from tests.until import until

WITH_ADA, WITH_EVE = Address("whatsapp", ADA), Address("whatsapp", EVES_PHONE)
SECTION = {
    "phone_number_id": NUMBER_ID,
    "access_token": TOKEN,
    "app_secret": APP_SECRET,
    "verify_token": VERIFY_TOKEN,
}


def out(text: str = "hello", address: Address = WITH_ADA, **more: Any) -> OutboundMessage:
    return OutboundMessage(more.pop("id", "row-1"), address, text, **more)


async def test_a_number_and_an_id_are_written_to_each_in_its_field(
    server: WhatsAppServer, channel: WhatsAppChannel
) -> None:
    await channel.send(out("**bold** and [here](https://x.test)"))
    await channel.send(out("hi", WITH_EVE, reply_to="wamid.5"))

    ada, eve = server.sent
    assert (ada["recipient"], ada["text"]["body"]) == (ADA, "*bold* and here (https://x.test)")
    assert (eve["to"], eve["context"]) == (EVES_PHONE, {"message_id": "wamid.5"})


@pytest.mark.parametrize(
    ("labels", "text", "kind"),
    [
        (["Yes", "No", "Later"], "May I?", "button"),
        (["1", "2", "3", "4"], "Which?", "list"),
        (["A label that is longer than a button", "No"], "Which?", "list"),
        (["Yes", "No"], "x" * 2_000, "list"),
        ([str(n) for n in range(10)], "Which?", "list"),
    ],
)
async def test_choices_are_buttons_where_they_fit_and_else_a_list(
    server: WhatsAppServer, channel: WhatsAppChannel, labels: list[str], text: str, kind: str
) -> None:
    delivery = await channel.send(out(text, buttons=tuple((Button(each, f"v{each}"),) for each in labels)))

    assert delivery.state is DeliveryState.DELIVERED, delivery
    assert server.sent[0]["interactive"]["type"] == kind


@pytest.mark.parametrize(
    ("kind", "mime", "size", "voice", "sent_as"),
    [
        (MediaKind.IMAGE, "image/png", 9, False, ("image", "image/png")),
        (MediaKind.IMAGE, "image/gif", 9, False, ("document", "text/plain")),
        (MediaKind.IMAGE, "image/jpeg", 5_000_001, False, ("document", "image/jpeg")),
        (MediaKind.AUDIO, "audio/ogg; codecs=opus", 9, True, ("audio", "audio/ogg")),
        (MediaKind.FILE, "application/zip", 9, False, ("document", "text/plain")),
        (MediaKind.FILE, "application/pdf", 9, False, ("document", "application/pdf")),
    ],
)
async def test_a_file_is_sent_as_what_whatsapp_shows_and_else_as_a_document(
    server: WhatsAppServer,
    channel: WhatsAppChannel,
    tmp_path: Path,
    *,
    kind: MediaKind,
    mime: str,
    size: int,
    voice: bool,
    sent_as: tuple[str, str],
) -> None:
    path = tmp_path / "a.file"
    path.write_bytes(b"x" * size)

    delivery = await channel.send(out("", media=(OutboundMedia(kind, str(path), mime, "a.file", voice=voice),)))

    assert delivery.state is DeliveryState.DELIVERED, delivery
    (message,) = server.sent
    body = message[message["type"]]
    assert (message["type"], server.types[body["id"]]) == sent_as
    assert (body.get("voice", False), body.get("filename")) == (voice, "a.file" if sent_as[0] == "document" else None)


@pytest.mark.parametrize(
    ("fault", "state", "says"),
    [
        ({"status": 400, "code": 131047}, DeliveryState.PERMANENT, "24 hours"),
        ({"status": 400, "code": 131026}, DeliveryState.PERMANENT, "131026"),
        ({"status": 400, "code": 100}, DeliveryState.PERMANENT, "as told (code 100)"),
        ({"status": 400, "code": 131056}, DeliveryState.TRANSIENT, "131056"),
        ({"status": 400, "code": 80007}, DeliveryState.TRANSIENT, "80007"),
        ({"status": 429, "headers": {"Retry-After": "7"}}, DeliveryState.TRANSIENT, "429"),
        ({"status": 500, "code": 131000}, DeliveryState.TRANSIENT, "131000"),
        ({"status": 503}, DeliveryState.UNKNOWN, "503"),
        ({}, DeliveryState.UNKNOWN, "did not answer"),
    ],
)
async def test_each_failure_means_what_it_means(
    server: WhatsAppServer, channel: WhatsAppChannel, fault: dict[str, Any], state: DeliveryState, says: str
) -> None:
    server.fail(**fault)

    delivery = await channel.send(out())

    assert delivery.state is state
    assert says in (delivery.error or "")
    assert delivery.retry_after_s == (
        7.0 if "headers" in fault else {131056: 6.0, 80007: 60.0}.get(fault.get("code", 0))
    )
    assert server.sent == []


async def test_a_message_whose_answer_was_lost_is_known_by_its_status(
    server: WhatsAppServer, channel: WhatsAppChannel
) -> None:
    server.fail(done=True)
    found = await channel.send(out())

    server.statuses = ()
    server.fail(done=True)
    unknown = await channel.send(out(id="row-2"))

    assert found == Delivery(DeliveryState.DELIVERED, (server.sent[0]["id"],))
    assert unknown.state is DeliveryState.UNKNOWN


@pytest.mark.parametrize("fault", [{"status": 500, "code": 131000}, {}])
async def test_an_upload_whose_fate_is_unknown_is_done_again(
    server: WhatsAppServer, channel: WhatsAppChannel, tmp_path: Path, fault: dict[str, Any]
) -> None:
    (tmp_path / "a.txt").write_text("a")
    server.fail("media", **fault)

    delivery = await channel.send(
        out("", media=(OutboundMedia(MediaKind.FILE, str(tmp_path / "a.txt"), "text/plain"),))
    )

    assert delivery.state is DeliveryState.TRANSIENT


async def test_a_file_that_is_gone_is_said(channel: WhatsAppChannel, tmp_path: Path) -> None:
    gone = OutboundMedia(MediaKind.FILE, str(tmp_path / "gone"), "text/plain")

    assert (await channel.send(out("", media=(gone,)))).state is DeliveryState.PERMANENT


async def test_typing_marks_the_last_message_as_read_and_is_not_asked_for_again_at_once(
    server: WhatsAppServer, channel: WhatsAppChannel, heard: Heard, clock: HurriedClock
) -> None:
    await channel.typing(WITH_ADA)
    first = server.says("text", {"body": "hi"})
    await until(lambda: bool(server.answers))

    await channel.typing(WITH_ADA)
    await channel.typing(WITH_ADA)
    assert server.typing == [first]

    await clock.sleep(25.0)
    await channel.typing(WITH_ADA)
    assert server.typing == [first, first]


async def test_a_token_that_is_refused_while_sending_fails_the_account(
    server: WhatsAppServer, channel: WhatsAppChannel, heard: Heard
) -> None:
    server.tokens[NUMBER_ID] = "another"

    assert (await channel.send(out())).state is DeliveryState.PERMANENT
    await until(lambda: bool(heard.errors))
    assert "expired or was revoked" in heard.errors[0]
    with pytest.raises(HubError):
        [piece async for piece in channel.fetch(WITH_ADA, Media(MediaKind.IMAGE, "77"))]


# --- set-up ---


async def test_each_number_is_set_up_and_a_message_that_does_not_arrive_is_a_repair(rig: Rig, tmp_path: Path) -> None:
    def repairs() -> list[Repair]:
        return [each for each in rig.repairs.all() if each.source == "whatsapp"]

    parts = cast(Any, rig)
    parts.home, parts.gateway = Home(tmp_path), SimpleNamespace(routes=RouteTable())
    host, registrations = host_on(parts, "whatsapp")
    async with WhatsAppServer() as server:
        good = {**SECTION, "api_root": server.root}
        broken = {**good, "account": "broken", "phone_number_id": "55555555", "access_token": "revoked"}
        await setup(host, CONFIG_SCHEMA([broken, good]))
        states = {each.channel.account: each for each in rig.channels.all()}
        await rig.until(lambda: states["default"].status.state is ChannelState.CONNECTED)
        await rig.until(lambda: states["broken"].status.state is ChannelState.FAILED)
        web = WebhookHost(lambda: [parts.gateway.routes.match("POST", "/whatsapp").route])
        server.hub = await web.start() + "/whatsapp"

        server.says("text", {"body": "hi"})
        await rig.until(lambda: rig.texts() == ["hi"])
        error = {"code": 131047, "title": "Re-engagement message"}
        server.tell("wamid.1", "failed", EVES_PHONE, errors=[error])
        await rig.until(lambda: bool(repairs()))
        (repair,) = repairs()
        server.tell("wamid.2", "delivered", EVES_PHONE)
        await rig.until(lambda: not repairs())

        await web.stop()
        await registrations.undo_all()

    assert EVES_PHONE in repair.text
    assert "24 hours" in repair.text
    assert rig.channels.all() == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"phone_number_id": "+1 555 000 0000"}, "digits alone, from API Setup"),
        ({"app_secret": None}, "app_secret"),
        ({"api_root": "graph"}, "http"),
        ({"number": "1"}, "number"),
    ],
)
def test_a_section_that_cannot_work_says_why(change: dict[str, Any], says: str) -> None:
    section = {key: value for key, value in {**SECTION, **change}.items() if value is not None}

    with pytest.raises(SchemaError, match=says):
        CONFIG_SCHEMA([section])


def test_a_number_may_be_written_without_quotation_marks() -> None:
    (found,) = CONFIG_SCHEMA({**SECTION, "phone_number_id": int(NUMBER_ID)})

    assert (found["phone_number_id"], found["account"]) == (NUMBER_ID, "default")


async def test_a_probe_says_what_the_token_may_do(server: WhatsAppServer, channel: WhatsAppChannel) -> None:
    whole = await channel.probe()
    server.scopes = ["whatsapp_business_messaging"]
    lacking = await channel.probe()

    assert whole["missing"] == []
    assert lacking["rights"] == ["The token has the permissions whatsapp_business_messaging."]
    assert "lacks the permissions whatsapp_business_management" in lacking["missing"][0]
