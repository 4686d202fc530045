"""Key exchange for encryption, between two sync rounds and before each send; the rest is the library's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hub.core.errors import Unavailable
from integrations.channels.matrix.answers import await_answer

if TYPE_CHECKING:
    from nio import AsyncClient


async def exchange(client: AsyncClient) -> None:
    """Upload our keys, ask for others', and send what the library has for other devices.

    Raises:
        HubError: The homeserver does not answer.
    """
    if client.olm is None:
        return
    if client.should_upload_keys:
        await await_answer(client.keys_upload())
    if client.should_query_keys:
        await await_answer(client.keys_query())
    if client.should_claim_keys:
        await await_answer(client.keys_claim(client.get_users_for_key_claiming()))
    for message in list(client.outgoing_to_device_messages):
        await await_answer(client.to_device(message))


async def share(client: AsyncClient, room_id: str) -> None:
    """Give the key of what is sent next to all devices of a room's members, verified or not.

    Raises:
        HubError: Some did not get it; nothing may be sent yet.
    """
    room = client.rooms[room_id]
    if not room.members_synced:
        await await_answer(client.joined_members(room_id))
    if client.should_query_keys:
        await await_answer(client.keys_query())
    if not client.olm.should_share_group_session(room_id):
        return
    if missing := client.get_missing_sessions(room_id):
        await await_answer(client.keys_claim(missing))
    await await_answer(client.share_group_session(room_id, ignore_unverified_devices=True))
    session = client.olm.outbound_group_sessions[room_id]
    reached = session.users_shared_with | session.users_ignored
    for user in room.users:
        for device in client.device_store.active_user_devices(user):
            # The library takes the key for shared even if it was not sent. Devices without a session have no keys left.
            if client.olm.session_store.get(device.curve25519) and (user, device.id) not in reached:
                client.invalidate_outbound_session(room_id)
                raise Unavailable(f"the keys for {room_id} did not reach all devices")
