"""What comes in: each message is on disk before the platform may forget it, and is answered once."""

from __future__ import annotations

import json

from hub.core.context import Context
from hub.core.errors import Unavailable
from hub.messaging.contract import Inbound, MessageEdited, Receipt
from hub.messaging.cursors import Cursors
from hub.messaging.notices.owner_place import OwnerPlaces
from tests.channels.kit import ADA, ANSWER, EVE, Can, ChannelHub, Rig
from tests.channels.registry import rigs_that
from tests.servers.openai_server import OpenAIServer
from tests.until import until


@rigs_that()
async def test_a_message_is_answered_where_it_was_said(hub: ChannelHub, rig: Rig) -> None:
    await rig.says("hello")

    await hub.until_shown(ANSWER)


@rigs_that()
async def test_a_message_that_is_offered_twice_is_answered_once(hub: ChannelHub, rig: Rig) -> None:
    await rig.says("hello")
    await hub.until_shown(ANSWER)

    await rig.says_again()
    await rig.says("and this")
    await hub.until_shown(ANSWER, ANSWER)

    assert await hub.turns() == 2


@rigs_that(Can.OFFERS_AGAIN)
async def test_what_was_stored_but_not_acknowledged_comes_again_and_is_answered_once(hub: ChannelHub, rig: Rig) -> None:
    inbox = hub.inbox.receive
    cut: list[Receipt] = []

    async def stores_and_fails(inbound: Inbound, context: Context) -> Receipt:
        receipt = await inbox(inbound, context)
        if not cut:
            cut.append(receipt)
            raise Unavailable("cut off before the acknowledgement")
        return receipt

    hub.channels.connect(stores_and_fails, Cursors(hub.db), hub.router.admits)
    await hub.log_in_again()
    await rig.says("hello")
    await rig.says("and this")
    await hub.until_shown(ANSWER, ANSWER)

    assert cut
    assert await hub.turns() == 2


@rigs_that(Can.OFFERS_AGAIN)
async def test_what_could_not_be_stored_comes_again_and_is_answered(hub: ChannelHub, rig: Rig) -> None:
    inbox = hub.inbox.receive
    refused: list[Inbound] = []

    async def full_at_first(inbound: Inbound, context: Context) -> Receipt:
        if len(refused) < 2:
            refused.append(inbound)
            raise Unavailable("the disk is full")
        return await inbox(inbound, context)

    hub.channels.connect(full_at_first, Cursors(hub.db), hub.router.admits)
    await hub.log_in_again()
    await rig.says("hello")

    await hub.until_shown(ANSWER)


@rigs_that(Can.OFFERS_AGAIN)
async def test_what_was_said_while_the_hub_was_away_is_answered_when_it_is_back(hub: ChannelHub, rig: Rig) -> None:
    await rig.says("hello")
    await hub.until_shown(ANSWER)
    await hub.log_out()
    await rig.says("are you there?")

    await hub.log_in()

    await hub.until_shown(ANSWER, ANSWER)
    assert await hub.turns() == 2


@rigs_that()
async def test_messages_in_another_order_are_all_answered_once(hub: ChannelHub, rig: Rig) -> None:
    await rig.says_in_disorder("one", "two", "three")

    await hub.until_shown(ANSWER, ANSWER, ANSWER)
    assert await hub.turns() == 3


@rigs_that(Can.DEAF)
async def test_a_connection_that_died_without_a_sign_is_noticed(hub: ChannelHub, rig: Rig) -> None:
    rig.goes_deaf()
    await rig.says("can you hear me?")

    await hub.until_shown(ANSWER)


@rigs_that(Can.MALFORMED)
async def test_what_is_no_json_is_survived(hub: ChannelHub, rig: Rig) -> None:
    rig.garbles()
    await rig.says("hello")

    await hub.until_shown(ANSWER)
    assert await hub.turns() == 1


@rigs_that(Can.EDITS)
async def test_an_edit_is_an_event_and_no_second_turn(hub: ChannelHub, rig: Rig) -> None:
    id = await rig.says("hello")
    await hub.until_shown(ANSWER)
    edits: list[dict[str, object]] = []
    tag = str(MessageEdited.__struct_config__.tag)
    hub.bus.listen(tag, lambda event: edits.append(dict(event.data)))

    await rig.edits(id, "hello again")
    await until(lambda: bool(edits))

    assert (edits[0]["message_id"], edits[0]["text"]) == (id, "hello again")
    assert rig.shows() == [ANSWER]


@rigs_that()
async def test_the_assistant_does_not_answer_itself(hub: ChannelHub, rig: Rig) -> None:
    await rig.says("hello")
    await hub.until_shown(ANSWER)
    await rig.says("and this")
    await hub.until_shown(ANSWER, ANSWER)

    assert await hub.turns() == 2


@rigs_that()
async def test_a_stranger_reaches_neither_the_model_nor_the_disk(
    hub: ChannelHub, rig: Rig, openai_server: OpenAIServer
) -> None:
    await rig.says("let me in", EVE, media=b"a large file" if Can.MEDIA in rig.can else None)
    await rig.says("let me in!", EVE)
    await rig.says("hello", ADA)
    await hub.until(lambda: ANSWER in rig.shows() and rig.shows(EVE) != [])

    assert await hub.turns() == 1
    assert len(openai_server.requests()) == 1
    assert rig.fetches() == 0
    (offered,) = rig.shows(EVE)
    assert "Give this code to the owner" in offered


@rigs_that(Can.GROUPS)
async def test_in_a_group_only_what_is_addressed_to_the_assistant_is_answered(hub: ChannelHub, rig: Rig) -> None:
    await rig.says("what do you all think?", group=True, mention=False)
    await rig.says("and you?", group=True)

    await hub.until_shown(ANSWER, group=True)
    assert await hub.turns() == 1
    assert ANSWER not in rig.shows()


@rigs_that(Can.THREADS)
async def test_an_answer_stays_in_its_thread(hub: ChannelHub, rig: Rig) -> None:
    await rig.says("in here", group=True, thread="77")
    await hub.until_shown(ANSWER, group=True, thread="77")
    await rig.says("out here", group=True)

    await hub.until_shown(ANSWER, ANSWER, group=True)
    assert rig.shows(group=True, thread="77") == [ANSWER]


@rigs_that()
async def test_an_owner_has_an_owners_rights_only_where_the_platform_proves_who_they_are(
    hub: ChannelHub, rig: Rig
) -> None:
    await rig.says("hello")
    await hub.until_shown(ANSWER)

    (attached,) = hub.channels.all()
    ((owner, authority),) = await hub.rows("SELECT owner, principal FROM inbox WHERE state = 'done'")
    told = json.loads(authority)
    assert told["person"] == "me"
    weak = attached.channel.limits.weak_identity
    assert (bool(owner), bool(told["owner"]), bool(told["scopes"])) == (not weak,) * 3
    assert (await OwnerPlaces(hub.db, lambda: hub.people, hub.channels).find() is None) is weak
