"""Parses a message into commands, settings for its answer, and the rest for the agent; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.context import Authority
from hub.messaging.commands.directives import SETTINGS, parse_directives
from hub.messaging.commands.registry import parse_command
from hub.messaging.contract import ClientMessage, InboundMessage
from hub.tools.policy import belongs_here

_SETTING_NAMES = frozenset(name for each in SETTINGS.values() for name in (each.name, *each.aliases))


class Reading(Struct, frozen=True):
    """A parsed message: commands to run now, and the message for the agent, if anything is left."""

    commands: tuple[tuple[str, str], ...]
    message: InboundMessage | None


def read_message(
    message: InboundMessage,
    authority: Authority,
    knows_model: Callable[[str], bool],
    *,
    by_owner: bool,
    reset_triggers: Iterable[str] = (),
) -> Reading:
    """Parse a message.

    A directive that its sender may not use is text.

    Args:
        authority: The sender's.
        knows_model: Whether there is a model of this name.
        by_owner: Whether the sender is an owner, in a group too.
        reset_triggers: Further words for `/new`.
    """
    for trigger in reset_triggers:
        begun, rest = message.text.strip()[: len(trigger)], message.text.strip()[len(trigger) :]
        if begun.casefold() == trigger.casefold() and (not rest or rest[0].isspace()):
            return Reading((("new", rest.strip()),), None)

    def may(name: str, value: str) -> bool:
        setting = SETTINGS.get(name)
        if setting is None:
            return True
        owner = authority.owner if setting.inline else by_owner  # what is for one answer takes the rights of here
        allowed = owner if setting.owner_only else belongs_here(authority)
        return allowed and (name != "model" or knows_model(value))

    command = parse_command(message.text)
    if command is not None and command[0] not in _SETTING_NAMES:
        return Reading((command,), None)
    found = parse_directives(message.text, may)
    if not found.commands:
        return Reading((), message) if command is None else Reading((command,), None)
    has_more = message.images or message.media or message.location or message.contacts
    if not found.text.strip() and not has_more:
        return Reading(found.commands, None)
    at_once = tuple((name, "") for name in found.shortcuts)
    return Reading(at_once, with_options(replace(message, text=found.text), found.options))


def with_options(message: InboundMessage, options: Mapping[str, Any]) -> InboundMessage:
    """Return a message with settings for the turn that answers it."""
    if not options:
        return message
    if isinstance(message, ClientMessage):
        return replace(message, options={**message.options, **options})
    return ClientMessage(**{name: getattr(message, name) for name in message.__struct_fields__}, options=options)
