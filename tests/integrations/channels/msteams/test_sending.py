"""What goes out through Teams, and the outcome when the Connector or the network fails."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hub.core.clock import ManualClock
from hub.core.errors import HubError
from hub.core.schema import SchemaError
from hub.core.secret import Secret
from hub.gateway.calls.routes import RouteTable
from hub.messaging.contract import (
    Address,
    Button,
    ChannelState,
    ChatType,
    DeliveryState,
    Media,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
    OutboundPoll,
)
from hub.storage.homedir import Home
from integrations.channels.msteams import setup
from integrations.channels.msteams.channel import TeamsChannel, TeamsPlace
from integrations.channels.msteams.connector import ConnectorApi, TeamsAccount
from integrations.channels.msteams.schema import CONFIG_SCHEMA, SERVICE_ROOT
from tests.channels.kit import Heard
from tests.channels.msteams_rig import TeamsRig, text_of
from tests.channels.webhook_host import WebhookHost
from tests.hosting import host_on
from tests.integrations.channels.rig import Rig
from tests.servers.msteams_server import (
    ADAS_CHAT,
    ADAS_USER,
    APP,
    GROUP_CHAT,
    PASSWORD,
    ROOM,
    TEAM,
    TENANT,
    TeamsServer,
)
from tests.until import until

WITH_ADA = Address("msteams", ADAS_CHAT)
IN_GROUP = Address("msteams", GROUP_CHAT, chat_type=ChatType.GROUP)
IN_ROOM = Address("msteams", ROOM, chat_type=ChatType.CHANNEL, space=TEAM)
SECTION = {"app_id": APP, "app_password": PASSWORD, "tenant_id": TENANT}


def out(text: str = "hello", address: Address = WITH_ADA, **more: Any) -> OutboundMessage:
    return OutboundMessage(more.pop("id", "row-1"), address, text, **more)


def attached(folder: Path, content: bytes, kind: MediaKind = MediaKind.FILE, mime: str = "text/plain") -> OutboundMedia:
    path = folder / "a.txt"
    path.write_bytes(content)
    return OutboundMedia(kind, str(path), mime, "notes.txt")


async def test_text_is_escaped_and_tables_are_code(server: TeamsServer, channel: TeamsChannel) -> None:
    await channel.send(out("**a** <at>Ben</at> & ~~b~~\n\n|x|y|\n|-|-|\n|1|2|\n\n![p](https://x.test/p.png)"))

    text = server.messages[0]["text"]
    assert "<strong>a</strong> &lt;at&gt;Ben&lt;/at&gt; &amp; <s>b</s>" in text
    assert "<pre><code>x | y\n--+--\n1 | 2" in text
    assert '<a href="https://x.test/p.png">p</a>' in text
    assert "<img" not in text


@pytest.mark.parametrize(
    ("fault", "state", "says"),
    [
        ({"status": 403, "code": "MessageWritesBlocked"}, DeliveryState.PERMANENT, "MessageWritesBlocked"),
        ({"status": 404, "code": "ConversationNotFound"}, DeliveryState.PERMANENT, "ConversationNotFound"),
        ({"status": 413, "code": "MessageSizeTooBig"}, DeliveryState.PERMANENT, "MessageSizeTooBig"),
        ({"status": 412, "code": "PreconditionFailed"}, DeliveryState.TRANSIENT, "PreconditionFailed"),
        ({"status": 429, "code": "TooManyRequests"}, DeliveryState.TRANSIENT, "TooManyRequests"),
        ({"status": 500, "code": "ServiceError"}, DeliveryState.TRANSIENT, "ServiceError"),
        ({"status": 502}, DeliveryState.UNKNOWN, "502"),
        ({"status": 504}, DeliveryState.UNKNOWN, "504"),
        ({"done": True}, DeliveryState.UNKNOWN, "did not answer"),
    ],
)
async def test_a_failure_is_sorted_by_what_it_means(
    server: TeamsServer, channel: TeamsChannel, fault: dict[str, Any], state: DeliveryState, says: str
) -> None:
    server.fail(**fault)

    delivery = await channel.send(out())

    assert delivery.state is state
    assert says in str(delivery.error)


async def test_a_token_that_ended_early_is_renewed_once(server: TeamsServer, channel: TeamsChannel) -> None:
    server.tokens.clear()

    assert (await channel.send(out())).state is DeliveryState.DELIVERED
    assert len(server.tokens) == 1


@pytest.mark.parametrize(
    ("url", "is_theirs"),
    [
        ("https://smba.trafficmanager.net/emea/", True),
        ("http://smba.trafficmanager.net/emea/", False),
        ("https://smba.trafficmanager.net@evil.test/", False),
        ("https://smba.trafficmanager.net.evil.test/", False),
        ("https://smba.trafficmanager.net:8443/", False),
        ("https://evil.trafficmanager.net/", False),
        ("", False),
    ],
)
async def test_only_servers_of_teams_are_shown_the_token(url: str, *, is_theirs: bool) -> None:
    account = TeamsAccount("default", APP, Secret(PASSWORD), TENANT, "", "", SERVICE_ROOT)
    api = ConnectorApi(account, ManualClock())

    assert api.is_service(url) is is_theirs
    await api.close()


async def test_a_server_that_was_kept_but_is_not_one_of_teams_is_not_asked(
    server: TeamsServer, channel: TeamsChannel
) -> None:
    evil = server.url.replace("127.0.0.1", "localhost")
    await channel._places.put(ADAS_CHAT, TeamsPlace(f"{evil}/emea/"))

    assert (await channel.send(out())).state is DeliveryState.PERMANENT
    assert server.regions == []


async def test_a_post_in_a_channel_begins_a_thread_that_is_answered_in(
    server: TeamsServer, channel: TeamsChannel
) -> None:
    thread = await channel.open_thread(IN_ROOM, "Holidays")
    await channel.send(out("Where?", thread))
    await channel.typing(thread)
    await channel.typing(IN_ROOM)

    first, second = server.messages
    assert second["conversation"] == first["conversation"] == f"{ROOM};messageid={first['id']}"
    assert server.typing == [first["conversation"]]
    assert await channel.open_thread(thread, "More") == thread
    with pytest.raises(HubError, match="channels alone"):
        await channel.open_thread(WITH_ADA, "Holidays")


async def test_a_post_in_a_channel_is_edited_and_deleted(server: TeamsServer, channel: TeamsChannel) -> None:
    (id,) = (await channel.send(out("a", IN_ROOM, buttons=((Button("Yes", "yes"),),)))).platform_ids

    assert (await channel.edit(IN_ROOM, id, "b")).state is DeliveryState.DELIVERED
    assert [text_of(each) for each in server.messages] == ["b"]
    for _ in range(2):
        assert (await channel.delete(IN_ROOM, id)).state is DeliveryState.DELIVERED
    assert server.messages == []


async def test_a_file_is_put_where_the_person_wants_it(
    server: TeamsServer, channel: TeamsChannel, tmp_path: Path
) -> None:
    delivery = await channel.send(out("", media=(attached(tmp_path, b"notes"),)))
    await until(lambda: "file.info" in str(server.messages))
    await until(lambda: "file.consent" not in str(server.messages))

    assert delivery.state is DeliveryState.DELIVERED
    assert server.uploaded == [b"notes"]
    assert server.messages[0]["attachments"][0]["content"]["fileType"] == "bin"
    assert (200, {}) in server.answers


@pytest.fixture
async def offered(server: TeamsServer, channel: TeamsChannel, tmp_path: Path) -> dict[str, Any]:
    server.accepts = None  # Ada takes her time
    await channel.send(out("", media=(attached(tmp_path, b"notes"),)))
    return server.messages[0]


@pytest.mark.parametrize(
    ("accept", "url", "says"),
    [
        (False, None, "notes.txt was declined."),
        (True, "https://evil.test/upload", "not to be put on evil.test"),
        (True, "http://x-my.sharepoint.com/upload", "not to be put on x-my.sharepoint.com"),
    ],
)
async def test_a_file_that_is_not_handed_over_is_said(
    platform: TeamsRig, server: TeamsServer, offered: dict[str, Any], *, accept: bool, url: str | None, says: str
) -> None:
    server.consents(offered["attachments"][0], offered["id"], ADAS_CHAT, accept=accept, url=url)

    await until(lambda: any(says in each for each in platform.shows()))
    assert server.uploaded == []


async def test_a_file_that_is_gone_meanwhile_is_said(
    platform: TeamsRig, server: TeamsServer, offered: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").unlink()
    server.consents(offered["attachments"][0], offered["id"], ADAS_CHAT, accept=True)

    await until(lambda: platform.shows() == ["notes.txt is no longer here."])


async def test_a_file_is_handed_to_nobody_else(server: TeamsServer, offered: dict[str, Any]) -> None:
    server.consents(offered["attachments"][0], offered["id"], GROUP_CHAT, accept=True)
    server.consents({"name": "x", "content": {"acceptContext": {"id": "x"}}}, "1", ADAS_CHAT, accept=True)
    server.consents(offered["attachments"][0], offered["id"], ADAS_CHAT, accept=True)
    await until(lambda: "file.info" in str(server.messages))

    assert server.uploaded == [b"notes"]
    assert {each["conversation"] for each in server.messages} == {ADAS_CHAT}


@pytest.mark.parametrize("mime", ["image/png", "image/jpeg"])
async def test_a_picture_is_shown_in_its_message_also_in_a_group(
    platform: TeamsRig, server: TeamsServer, channel: TeamsChannel, tmp_path: Path, mime: str
) -> None:
    await channel.send(out("", IN_GROUP, media=(attached(tmp_path, b"a picture", MediaKind.IMAGE, mime),)))

    assert server.messages[0]["attachments"][0]["contentType"] == mime
    assert platform.uploads() == [b"a picture"]


async def test_a_large_picture_is_offered_as_a_file(server: TeamsServer, channel: TeamsChannel, tmp_path: Path) -> None:
    picture = attached(tmp_path, b"x" * 1_000_001, MediaKind.IMAGE, "image/png")
    await channel.send(out("", media=(picture,)))
    await until(lambda: "file.info" in str(server.messages))
    server.fail(status=413, code="MessageSizeTooBig")
    await channel.send(out("", id="row-2", media=(attached(tmp_path, b"small", MediaKind.IMAGE, "image/png"),)))

    await until(lambda: server.uploaded[1:] == [b"small"])


async def test_a_file_for_a_group_is_refused_with_a_reason(channel: TeamsChannel, tmp_path: Path) -> None:
    delivery = await channel.send(out("", IN_GROUP, media=(attached(tmp_path, b"notes"),)))

    assert (delivery.state, "direct messages alone" in str(delivery.error)) == (DeliveryState.PERMANENT, True)


async def test_a_picture_of_theirs_is_fetched_with_the_token_and_from_nowhere_else(
    server: TeamsServer, channel: TeamsChannel
) -> None:
    server.files["1"] = b"a picture"
    here = Media(MediaKind.IMAGE, f"{server.url}/files/1")
    elsewhere = Media(MediaKind.IMAGE, f"{server.url.replace('127.0.0.1', 'localhost')}/files/1")

    assert [piece async for piece in channel.fetch(WITH_ADA, here)] == [b"a picture"]
    with pytest.raises(HubError, match="not on its servers but on localhost"):
        [piece async for piece in channel.fetch(WITH_ADA, elsewhere)]


async def test_a_poll_takes_one_choice_or_several(server: TeamsServer, channel: TeamsChannel) -> None:
    for multiple in (False, True):
        await channel.poll(OutboundPoll("1", WITH_ADA, "Tea?", ("tea", "cake"), multiple=multiple))

    parts = [each["attachments"][0]["content"]["body"][1] for each in server.messages]
    assert [each["isMultiSelect"] for each in parts] == [False, True]
    assert [each["title"] for each in parts[0]["choices"]] == ["tea", "cake"]


@pytest.mark.parametrize(
    "wrong", [{"app_id": "a b"}, {"tenant_id": "../common"}, {"account": "A/b"}, {"service_root": "x"}]
)
def test_what_cannot_be_right_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(SchemaError):
        CONFIG_SCHEMA([{**SECTION, **wrong}])


async def test_each_bot_is_set_up_with_its_own_address(rig: Rig, tmp_path: Path) -> None:
    parts = cast(Any, rig)
    parts.home, parts.gateway = Home(tmp_path), SimpleNamespace(routes=RouteTable())
    host, _ = host_on(parts, "msteams")
    async with TeamsServer() as server:
        server.now = rig.clock.time
        places = {"login_root": f"{server.url}/login", "openid_url": f"{server.url}/openid"}
        good = {**SECTION, **places, "service_root": f"{server.url}/teams/"}
        await setup(host, CONFIG_SCHEMA([good, {**good, "account": "broken", "app_password": "old"}]))
        states = {each.channel.account: each for each in rig.channels.all()}
        await rig.until(lambda: states["default"].status.state is ChannelState.CONNECTED)
        await rig.until(lambda: states["broken"].status.state is ChannelState.FAILED)
        web = WebhookHost(lambda: [parts.gateway.routes.match("POST", "/msteams/default").route])
        server.hub = await web.start() + "/msteams/default"

        server.says("hi")
        await rig.until(lambda: rig.texts() == ["hi"])
        await web.stop()

    assert "AADSTS7000215" in str(states["broken"].status.error)


async def test_a_probe_says_what_it_may_at_graph_and_where_it_is(server: TeamsServer, channel: TeamsChannel) -> None:
    for peer, kind, name in ((ROOM, ChatType.CHANNEL, "Kitchen"), (GROUP_CHAT, ChatType.GROUP, "Family")):
        await channel._places.put(peer, TeamsPlace(server.service, name, kind))
    await channel._places.put(ADAS_CHAT, TeamsPlace(server.service, "Ada"))

    first = await channel.probe()
    server.graph_roles = ["User.Read.All", "Files.Read.All"]
    server.left.add(GROUP_CHAT)
    second = await channel.probe()
    server.graph_roles = None
    third = await channel.probe()

    assert first["rights"] == ["At Microsoft Graph it may: –.", "It is in Kitchen.", "It is in Family."]
    assert (first["ok"], first["missing"]) == (True, [])
    assert second["rights"] == [
        "At Microsoft Graph it may: Files.Read.All, User.Read.All.",
        "It is in Kitchen.",
    ]
    assert second["missing"] == ["It is not in Family any more; add the app there again."]
    assert third["rights"][0].startswith("What it may do at Microsoft Graph is not known: ")
    assert "unauthorized_client" in third["rights"][0]


async def test_a_member_of_a_team_who_never_wrote_is_listed_and_their_chat_is_opened_once(
    server: TeamsServer, channel: TeamsChannel, tmp_path: Path
) -> None:
    await channel._places.put(ROOM, TeamsPlace(server.service, "Kitchen", ChatType.CHANNEL, TEAM))
    listed = {each.name: each for each in await channel.look_up("", 50)}
    ada = Address("msteams", listed["Ada King"].peer)

    first = await channel.send(out("hello", ada))
    await channel.edit(ada, first.platform_ids[0], "hello again")
    await channel.send(out("", ada, id="row-2", media=(attached(tmp_path, b"notes"),)))
    await until(lambda: server.uploaded == [b"notes"])

    assert {"Ada King", "Eve"} <= listed.keys()
    assert (ada.peer, listed["Ada King"].chat_type) == (ADAS_USER, ChatType.DIRECT)
    assert server.opened == [ADAS_USER]
    assert text_of(server.messages[0]) == "hello again"
    assert {each["conversation"] for each in server.messages} == {ADAS_CHAT}
    again = {each.name: each.peer for each in await channel.look_up("ada", 50)}
    assert again == {"Ada King": ADAS_CHAT}
    nobody = await channel.send(out("hello", Address("msteams", "29:1stranger")))
    assert nobody.state is DeliveryState.PERMANENT


async def test_a_member_of_a_team_who_wrote_is_listed_once(
    server: TeamsServer, channel: TeamsChannel, heard: Heard
) -> None:
    await channel._places.put(ROOM, TeamsPlace(server.service, "Kitchen", ChatType.CHANNEL, TEAM))
    await channel._places.put(ADAS_CHAT, TeamsPlace(server.service, "Ada"))  # as earlier versions kept it

    server.says("hello")
    await until(lambda: bool(heard.inbound))

    assert [(each.peer, each.name) for each in await channel.look_up("ada", 50)] == [(ADAS_CHAT, "Ada")]
