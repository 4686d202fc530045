"""WhatsApp Web: linking to a phone, by scanning or by a code, and again."""

from __future__ import annotations

import stat
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from hub.backup.contents import Kind, files_of
from hub.core.schema import SchemaError
from hub.messaging.capabilities import CanLink, LinkStep
from hub.messaging.contract import ChannelState, MediaKind
from hub.storage.homedir import Home
from integrations.channels.whatsapp_web.channel import LINK_LIMIT_S, WhatsAppWebChannel
from integrations.channels.whatsapp_web.client import LinkCode, WebClient
from integrations.channels.whatsapp_web.neonize_client import EVENTS, NeonizeClient
from integrations.channels.whatsapp_web.schema import CONFIG_SCHEMA
from tests.integrations.channels.rig import Rig
from tests.integrations.channels.whatsapp_web.conftest import Make, taken
from tests.servers.whatsapp_web_double import ADA, ME, PAIRING_CODE, QR_CODES, WhatsAppWebDouble, e2e, proto


@pytest.fixture
async def unlinked(rig: Rig, server: WhatsAppWebDouble, make: Make) -> WhatsAppWebChannel:
    server.linked = False
    channel = make()
    await rig.add(channel, connected=False)
    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)
    return channel


async def test_an_account_that_is_not_linked_says_so_and_asks_whatsapp_nothing(
    rig: Rig, server: WhatsAppWebDouble, unlinked: WhatsAppWebChannel
) -> None:
    assert "homarus channels link whatsapp_web" in rig.error(unlinked)
    assert server.client is None
    assert isinstance(unlinked, CanLink)


async def test_each_code_is_shown_until_one_is_scanned(
    rig: Rig, server: WhatsAppWebDouble, unlinked: WhatsAppWebChannel
) -> None:
    assert await unlinked.link() == LinkStep(qr=QR_CODES[0])
    server.push(LinkCode(QR_CODES[1]))
    await rig.until(lambda: unlinked.link_step() == LinkStep(qr=QR_CODES[1]))

    server.scan()
    await rig.until(lambda: unlinked.link_step() == LinkStep(linked=True))

    assert rig.state(unlinked) is ChannelState.CONNECTED
    server.says(e2e.Message(conversation="hello"))
    await rig.until(lambda: rig.texts() == ["hello"])
    assert taken(rig)[0].address.account_id == ME


async def test_with_a_number_there_is_a_code_to_type(
    rig: Rig, server: WhatsAppWebDouble, unlinked: WhatsAppWebChannel
) -> None:
    assert await unlinked.link("+49 151 1234") == LinkStep(code=PAIRING_CODE)
    server.push(LinkCode(QR_CODES[1]))
    server.scan()

    await rig.until(lambda: unlinked.link_step().linked)


async def test_a_number_that_whatsapp_refuses_is_told(
    rig: Rig, server: WhatsAppWebDouble, unlinked: WhatsAppWebChannel
) -> None:
    server.pairing_error = "phone number too short"

    step = await unlinked.link("12345")

    assert step.error is not None
    assert "too short" in step.error


async def test_a_code_that_nobody_scans_ends_and_can_be_had_again(
    rig: Rig, server: WhatsAppWebDouble, unlinked: WhatsAppWebChannel
) -> None:
    await unlinked.link()
    await rig.clock.advance(LINK_LIMIT_S + 1)
    server.push(LinkCode(QR_CODES[1]))
    await rig.until(lambda: unlinked.link_step().error is not None)

    assert "nobody scanned" in (unlinked.link_step().error or "")
    assert await unlinked.link() == LinkStep(qr=QR_CODES[0])


async def test_a_refused_link_says_why(rig: Rig, server: WhatsAppWebDouble, unlinked: WhatsAppWebChannel) -> None:
    await unlinked.link()
    server.push(proto.PairStatus(Status=proto.PairStatus.ERROR, Error="the number is blocked"))
    await rig.until(lambda: unlinked.link_step().error is not None)

    assert "the number is blocked" in (unlinked.link_step().error or "")


async def test_linking_again_keeps_the_conversation(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    server.says(e2e.Message(conversation="before"))
    await rig.until(lambda: rig.texts() == ["before"])
    server.log_out()
    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    await channel.link()
    server.scan()
    await rig.until(lambda: rig.state(channel) is ChannelState.CONNECTED)
    server.says(e2e.Message(conversation="after"))
    await rig.until(lambda: rig.texts() == ["before", "after"])

    assert taken(rig)[0].address == taken(rig)[1].address


async def test_a_linked_account_that_was_replaced_connects_again_without_a_code(
    rig: Rig, server: WhatsAppWebDouble, channel: WhatsAppWebChannel
) -> None:
    server.push(proto.StreamReplaced())
    await rig.until(lambda: rig.state(channel) is ChannelState.FAILED)

    assert await channel.link() == LinkStep(linked=True)


@pytest.mark.parametrize("given", [{}, {"accept_risk": False}, {"accept_risk": "maybe"}])
def test_nobody_links_a_number_without_accepting_the_risk(given: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        CONFIG_SCHEMA([given])


def test_strangers_get_no_code_on_a_number_that_is_somebodys_own() -> None:
    assert CONFIG_SCHEMA({"accept_risk": True})[0]["dm_policy"] == "allowlist"


# --- the library itself; the servers of WhatsApp are not asked ---


async def test_a_session_is_a_file_that_only_its_user_may_read(tmp_path: Path) -> None:
    session = tmp_path / "integrations" / "whatsapp_web" / "session-default.db"
    client: WebClient = await NeonizeClient.open(session)

    assert await client.is_linked() is False
    assert await client.is_connected() is False
    await client.close()

    assert stat.S_IMODE(session.stat().st_mode) == 0o600
    assert stat.S_IMODE(session.parent.stat().st_mode) == 0o700


async def test_a_session_is_in_each_backup(tmp_path: Path) -> None:
    home = Home(tmp_path)
    client = await NeonizeClient.open(home.storage / "integrations" / "whatsapp_web" / "session-default.db")
    await client.is_linked()
    await client.close()

    found = {each.path: each.kind for each in files_of(home, [], ())}
    assert found[".storage/integrations/whatsapp_web/session-default.db"] is Kind.DATABASE


async def test_the_library_has_what_is_asked_of_it() -> None:
    from neonize.client import NewClient
    from neonize.events import EVENT_TO_INT
    from neonize.utils.enum import MediaType

    from integrations.channels.whatsapp_web.neonize_client import _MEDIA

    assert {getattr(proto, name) for name in EVENTS} <= EVENT_TO_INT.keys()
    assert set(_MEDIA) == set(MediaKind)
    assert all(name in MediaType.__members__ for name in _MEDIA.values())
    signature(NewClient.send_message).bind(None, ADA, e2e.Message())
    signature(NewClient.mark_read).bind(None, "id", chat=None, sender=None, receipt=None)
    signature(NewClient.PairPhone).bind(None, ADA, True)
    signature(NewClient.upload).bind(None, b"", None)
    for name in ("get_pn_from_lid", "get_lid_from_pn", "download_any", "decrypt_poll_vote", "get_group_info"):
        signature(getattr(NewClient, name)).bind(None, None)
    for name in ("get_me", "stop", "get_joined_groups", "connect"):
        signature(getattr(NewClient, name)).bind(None)
