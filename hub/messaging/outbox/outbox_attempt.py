"""One attempt to send a row of the outbox through its channel; whatever happens, its result is a delivery."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from pathlib import Path

from msgspec.structs import replace

from hub.core.errors import HubError
from hub.core.executors import FILES
from hub.messaging.capabilities import CanDelete, CanEdit, CanFind, CanPoll, CanReact
from hub.messaging.channels import Attached
from hub.messaging.contract import Channel, ChannelLimits, Delivery, DeliveryState, OutboundMedia
from hub.messaging.outbox.outgoing import NewMessage, NewPoll, NewReaction, NewText, OutboxRow, Withdrawal
from hub.messaging.texts import say
from hub.security.root import Root

_log = logging.getLogger(__name__)

SEND_LIMIT_S = 60.0
FIND_LIMIT_S = 30.0


async def attempt(row: OutboxRow, attached: Attached, language: str, roots: Iterable[Path]) -> Delivery:
    """Send a row once.

    Args:
        row: A `NewText` in it names a platform's id.
        attached: Its channel.
        language: Of a line that says what could not be carried.
        roots: Directories below which attachments may lie.
    """
    channel = attached.channel
    if isinstance(row.outgoing, NewMessage) and row.outgoing.media:
        row = replace(row, outgoing=await _carried(row.outgoing, channel.limits, language, tuple(roots)))
    call = _call(row, channel)
    if call is None:
        return Delivery(DeliveryState.PERMANENT, error=f"{channel.name} cannot do this")
    try:
        async with asyncio.timeout(SEND_LIMIT_S):
            return await call
    except TimeoutError:
        return Delivery(DeliveryState.UNKNOWN, error=f"no answer within {SEND_LIMIT_S:g} s")
    except Exception as error:  # a channel that raises breaks its contract; the message must not be lost to it
        _log.exception("channel %s failed to send %s", channel.name, row.id)
        return Delivery(DeliveryState.UNKNOWN, error=f"the channel failed: {error}")


async def find(row: OutboxRow, attached: Attached) -> Delivery:
    """Look up what happened to a message whose sending was cut off; transient means that it is to be sent again.

    Only where `can_find` says so. An unknown delivery means that the lookup failed.
    """
    channel = attached.channel
    if not isinstance(channel, CanFind):
        raise TypeError(f"{channel.name} has no history")
    try:
        async with asyncio.timeout(FIND_LIMIT_S):
            found = await channel.find(row.message(), row.updated_ms / 1000)
    except TimeoutError:
        return Delivery(DeliveryState.UNKNOWN, error=f"it could not be looked up within {FIND_LIMIT_S:g} s")
    except HubError as error:
        return Delivery(DeliveryState.UNKNOWN, error=f"it could not be looked up: {error.message}")
    except Exception as error:  # as above: a broken channel must not end the worker
        _log.exception("channel %s failed to look up %s", channel.name, row.id)
        return Delivery(DeliveryState.UNKNOWN, error=f"it could not be looked up: {error}")
    return found or Delivery(DeliveryState.TRANSIENT)


def can_find(row: OutboxRow, attached: Attached) -> bool:
    """Whether a channel can look up what happened to a row."""
    return isinstance(attached.channel, CanFind) and isinstance(row.outgoing, NewMessage)


def _call(row: OutboxRow, channel: Channel) -> Awaitable[Delivery] | None:
    match row.outgoing:
        case NewMessage():
            return channel.send(row.message())
        case NewText(text=text, platform_id=platform_id) if isinstance(channel, CanEdit):
            return channel.edit(row.address, platform_id, text)
        case Withdrawal(platform_id=platform_id) if isinstance(channel, CanDelete):
            return channel.delete(row.address, platform_id)
        case NewReaction(platform_id=platform_id, emoji=emoji) if isinstance(channel, CanReact):
            return channel.react(row.address, platform_id, emoji)
        case NewPoll() if isinstance(channel, CanPoll):
            return channel.poll(row.poll())
    return None


async def _carried(message: NewMessage, limits: ChannelLimits, language: str, roots: tuple[Path, ...]) -> NewMessage:
    """Return a message with the attachments that its channel can carry; of the others a line says so."""
    carried: list[OutboundMedia] = []
    lines = [message.text] if message.text else []
    for media in message.media:
        name = media.name or Path(media.path).name
        size = await FILES.run(size_of, media.path, roots)
        if size is None:
            lines.append(say("media.gone", language, name=name))
        elif media.kind not in limits.media:
            lines.append(say("media.kind", language, name=name))
        elif size > limits.media_bytes:
            lines.append(say("media.size", language, name=name, limit=f"{limits.media_bytes / 1e6:.3g}"))
        else:
            carried.append(media)
    return replace(message, media=tuple(carried), text="\n".join(lines))


def size_of(path: str, roots: Iterable[Path]) -> int | None:
    """Return the bytes of a plain file below one of the directories, not through symlinks; None when there is none."""
    for root in roots:
        if Path(path).is_relative_to(root):
            try:
                found = Root(root).stat(Path(path).relative_to(root).as_posix())
            except (OSError, HubError):
                return None
            return found.size_bytes if found.is_file else None
    return None
