"""Sessions and transcript entries as the protocol shows them. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from hub.agent.conversation.side_note import note_channel
from hub.sessions.entry import TranscriptEntry
from hub.sessions.keys import ROOMS, SessionKey, SessionKind, is_incognito
from hub.sessions.session import Session, SessionOrigin

HISTORY_BYTES = 8_388_608
"""Of one answer; older messages are left out beyond it."""


SHOWN_SETTINGS = {
    "thinkingLevel": "thinking",
    "verboseLevel": "verbose",
    "reasoningLevel": "reasoning",
    "responseUsage": "footer",
    "queueMode": "queue",
    "groupActivation": "activation",
}
"""The settings of a session by their names in the protocol; the model has the same name."""
SEND_POLICIES = {"on": "allow", "off": "deny"}


def session_payload(session: Session) -> dict[str, Any]:
    """Return a session's row; fields that the protocol does not allow to be null are left out."""
    usage = session.usage
    kind = SessionKey.parse(session.key).kind
    row: dict[str, Any] = {
        "key": session.key,
        "kind": "group" if kind in ROOMS else "direct",
        "chatType": kind.value if kind in ROOMS else "direct",
        "classification": kind.value,
        "isMain": kind is SessionKind.MAIN,
        "sessionId": session.session_id,
        "agentId": session.agent_id,
        "title": session.title,
        "modelOverride": session.model,
        "modelOverrideSource": "user" if session.model else None,
        **{shown: getattr(session, name) for shown, name in SHOWN_SETTINGS.items()},
        "sendPolicy": SEND_POLICIES.get(session.send or ""),
        "createdAt": session.created_ms,
        "updatedAt": session.updated_ms,
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": session.context_tokens,
        "totalTokensFresh": True,
        "turns": session.turns,
        "tainted": session.tainted,
        "archived": session.archived,
        "pinned": session.pinned,
        "unread": session.unread,
        "snoozedUntil": session.snoozed_ms or None,
        "systemSent": session.turns > 0,
        "abortedLastRun": session.aborted,
        "lastChannel": session.origin.channel if session.origin else None,
        "copyOf": session.copy_of,
        "person": session.person,
    }
    if session.title is not None:
        row["label"] = session.title
    if session.name is not None:
        row["displayName"] = session.name
    if session.origin is not None:
        row |= _origin_fields(session.origin, row["chatType"])
    if usage.cost_usd is not None:
        row["estimatedCostUsd"] = usage.cost_usd
    if session.heard_ms:
        row["lastInteractionAt"] = session.heard_ms
    if is_incognito(session.key):
        row["incognito"] = True
    return row


def _origin_fields(origin: SessionOrigin, chat_type: str) -> dict[str, Any]:
    """Return where a session's last message came from, and answers go; what is not known is left out."""
    place = {"accountId": origin.account, "threadId": origin.thread}
    described = {
        "label": origin.group_name or origin.sender_name,
        "provider": origin.channel,
        "chatType": chat_type,
        "from": origin.sender,
        "to": origin.peer,
        **place,
    }
    fields: dict[str, Any] = {
        "channel": origin.channel,
        "lastTo": origin.peer,
        "lastAccountId": origin.account,
        "lastThreadId": origin.thread,
        "subject": origin.group_name,
        "room": origin.peer if chat_type != "direct" else None,
        "topic": origin.topic_name,
        "space": origin.space_name or origin.space,
        "origin": {name: value for name, value in described.items() if value is not None},
    }
    if origin.peer is not None:
        delivery = {"channel": origin.channel, "to": origin.peer, **place}
        fields["deliveryContext"] = {name: value for name, value in delivery.items() if value is not None}
    return {name: value for name, value in fields.items() if value is not None}


def message_payloads(entries: Iterable[TranscriptEntry], limit: int) -> list[dict[str, Any]]:
    """Return the last `limit` messages, oldest first, as many as fit into 8 MiB."""
    found = [entry for entry in entries if entry.message is not None][-limit:]
    shown: list[dict[str, Any]] = []
    size = 0
    for entry in reversed(found):
        message = message_payload(entry)
        size += len(orjson.dumps(message))
        if size > HISTORY_BYTES:
            break
        shown.append(message)
    shown.reverse()
    return shown


def message_payload(entry: TranscriptEntry) -> dict[str, Any]:
    """Return one message with its time and run; `note` marks text that the hub inserted."""
    message: dict[str, Any] = entry.message.as_dict() if entry.message is not None else {}
    message |= {"timestamp": entry.ts_ms, "id": entry.id}
    if (channel := note_channel(entry)) is not None:
        message["note"] = channel
    if entry.run_id is not None:
        message["runId"] = entry.run_id
    if entry.model is not None:
        message["model"] = entry.model
    if entry.usage is not None:
        message["usage"] = entry.usage.as_dict()
    return message


def preview(entries: Iterable[TranscriptEntry], limit: int, characters: int) -> list[dict[str, str]]:
    """Return the last texts of a conversation, shortened."""
    items = [
        {"role": entry.message.role.value, "text": entry.message.text[:characters]}
        for entry in entries
        if entry.message is not None and entry.message.text.strip() and note_channel(entry) is None
    ]
    return items[-limit:]
