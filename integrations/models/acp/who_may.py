"""The rules for who may ask a program, and for what an approval allows it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.core.context import SYSTEM, Context
from hub.core.errors import InvalidRequest
from hub.models.contract import Message, ModelRequest
from hub.sessions.keys import SessionKey, SessionKind, is_incognito
from integrations.models.acp.agent_program import AcpError

PRIVATE = (SessionKind.MAIN, SessionKind.DIRECT)
ALLOW_ONCE = "allow_once"
REJECT_ONCE = "reject_once"


class OwnersWords(Struct, frozen=True):
    """An owner's words to a program: the message alone, and its conversation."""

    message: Message
    context: Context
    session_key: str
    session_id: str
    run_id: str | None


def owner_message(request: ModelRequest, name: str) -> OwnersWords:
    """Return an owner's own words; a program acts outside the rules for tools, so nobody else may ask it.

    Raises:
        AcpError: It is not a run of a kept conversation, or somebody else's words, or not said in person.
    """
    said, context, key, session_id = request.said, request.context, request.session_key, request.session_id
    if said is None or context is None or key is None or session_id is None:
        raise AcpError(f"{name} is a program that answers in conversations that are kept; choose a model for this.")
    if (why := _refusal(context, key)) is not None:
        raise AcpError(f"{name} is a program that acts outside the hub's rules for tools. {why}")
    return OwnersWords(said, context, key, session_id, request.run_id)


def _refusal(context: Context, key: str) -> str | None:
    authority = context.authority
    if not authority.owner:
        return "Only an owner of this home may ask it; choose another model for this conversation."
    if authority.tainted:
        return "Text that others wrote is in this message, so it is not given to it; say it in your own words."
    if context.parent_id is not None or context.chain or authority.principal == SYSTEM.principal:
        return "Only an owner in person may ask it: no automation, no subagent and no other agent."
    if authority.tool_policies:
        return "The tools of this conversation are restricted, which it cannot be held to; ask it in another one."
    if not _is_private(key):
        return "It answers only in an owner's private conversations; choose another model for this one."
    if is_incognito(key):
        return "It keeps conversations itself, so it does not answer where nothing is to be kept."
    return None


def _is_private(key: str) -> bool:
    try:
        return SessionKey.parse(key).kind in PRIVATE
    except InvalidRequest:
        return False


def option_of(options: Sequence[Any], kind: str) -> Mapping[str, Any] | None:
    """Return the first well-formed option of a kind that a program offers for its question, or None."""
    for option in options:
        if isinstance(option, Mapping) and option.get("kind") == kind and isinstance(option.get("optionId"), str):
            return option
    return None


def outcome(options: Sequence[Any], *, approved: bool) -> dict[str, Any]:
    """Return the answer to a program's question: an approval allows once, never for always."""
    chosen = option_of(options, ALLOW_ONCE if approved else REJECT_ONCE)
    if chosen is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": chosen["optionId"]}}
