"""A stranger on Matrix who invites the assistant to a room of theirs is shown a pairing code there."""

from __future__ import annotations

import pytest

from hub.core.schema import Schema
from hub.messaging.schema import ACCESS_KEYS, access_policy
from tests.channels.kit import EVE, ChannelHub
from tests.channels.matrix_rig import MatrixRig
from tests.until import until


@pytest.mark.parametrize("rig", [MatrixRig], indirect=True)
async def test_a_stranger_gets_a_code_in_the_room_that_they_invite_to_unless_there_are_none(
    hub: ChannelHub, rig: MatrixRig
) -> None:
    await until(rig.is_read)
    room = rig.invites(EVE)
    await hub.until(lambda: bool(rig.said_in(room, EVE)))
    await hub.log_out()
    rules = Schema(dict(ACCESS_KEYS))({"dm_policy": "allowlist"})
    await hub.channels.add(rig.channel(hub.folder, hub.clock), access_policy(rules))
    closed = rig.invites(EVE)
    await hub.until(lambda: any(each["peer"] == closed for each in hub.told("message_rejected")))

    (offered,) = rig.said_in(room, EVE)
    assert "Give this code to the owner" in offered
    assert await hub.turns() == 0
    assert rig.members_of(closed, EVE) == 1
