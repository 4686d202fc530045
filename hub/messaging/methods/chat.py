"""`chat.send|abort|inject`: people's conversations; messages go through the inbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.agent.taint.authorship import provenance_of
from hub.core.clock import Clock
from hub.core.errors import Conflict, InvalidRequest
from hub.core.schema import All, AnyOf, In, Length, Optional, Range, Required, Schema, boolean, integer
from hub.core.surfaces import ADMIN, LARGE_FRAME_BYTES, WRITE, Method, MethodCall
from hub.gateway.calls.attachments import ATTACHMENTS_SCHEMA, images_of
from hub.gateway.calls.method_table import IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_SCHEMA
from hub.gateway.push.events import RunEvents
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import Address, ClientMessage
from hub.messaging.inbox.inbox import Inbox
from hub.messaging.queue.queue_policy import parse_queue_directive
from hub.models.contract import Message, Role, TextBlock
from hub.models.thinking import WORDS
from hub.sessions.entry import EntryType, TranscriptEntry
from hub.sessions.methods.sessions import SessionMethods
from hub.sessions.store import SessionStore

OWNER = "gateway"
TEXT_LIMIT = 1_000_000

_KEY = All(str, Length(min=1, max=2048))
_TEXT = All(str, Length(max=TEXT_LIMIT))
_SESSION = {Required("sessionKey"): _KEY, Optional("agentId"): All(str, Length(max=64))}


class ChatMethods:
    """The methods of a conversation.

    Args:
        keys: Finds sessions by any form of their key.
        sessions: The store.
        inbox: Takes messages.
        events: Pushes the answers of commands to clients.
        channels: Knows the channel of the hub's own conversations.
    """

    def __init__(
        self,
        *,
        keys: SessionMethods,
        sessions: SessionStore,
        inbox: Inbox,
        events: RunEvents,
        clock: Clock,
        channels: ChannelRegistry,
    ) -> None:
        self._channels = channels
        self._keys = keys
        self._sessions = sessions
        self._inbox = inbox
        self._events = events
        self._clock = clock

    def methods(self) -> list[Method]:
        """Return the methods."""
        send = Schema(
            {
                **_SESSION,
                Optional("sessionId"): All(str, Length(max=256)),
                Required("message"): _TEXT,
                Required(IDEMPOTENCY_KEY): IDEMPOTENCY_KEY_SCHEMA,
                Optional("attachments", default=list): ATTACHMENTS_SCHEMA,
                Optional("model"): AnyOf(None, All(str, Length(min=1, max=200))),
                Optional("thinking"): AnyOf(None, In(list(WORDS))),
                Optional("timeoutMs"): AnyOf(None, All(integer, Range(min=0, max=86_400_000))),
                Optional("queueMode", description="Instead of the conversation's own."): AnyOf(
                    None, All(str, Length(min=1, max=200))
                ),
                # Clients of the protocol say that they show the answer themselves; there is no other way here.
                Optional("deliver"): All(boolean, In([False])),
            }
        )
        abort = Schema({**_SESSION, Optional("runId"): All(str, Length(min=1, max=256))})
        inject = Schema(
            {
                **_SESSION,
                Required("message"): All(str, Length(min=1, max=TEXT_LIMIT)),
                Optional("label"): AnyOf(None, All(str, Length(max=100))),
            }
        )
        return [
            Method(
                "chat.send", self._send, OWNER, send, WRITE, acts=True, repeatable=True, frame_limit=LARGE_FRAME_BYTES
            ),
            Method("chat.abort", self._abort, OWNER, abort, WRITE),
            Method(
                "chat.inject",
                self._inject,
                OWNER,
                inject,
                ADMIN,
                acts=True,
                frame_limit=LARGE_FRAME_BYTES,
            ),
        ]

    async def _send(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        if not params["message"].strip() and not params["attachments"]:
            raise InvalidRequest("message: it is empty, and nothing is attached")
        if params.get("queueMode"):
            parse_queue_directive(params["queueMode"])
        session_key = self._key(params)
        run_id = params[IDEMPOTENCY_KEY]
        principal = call.caller.authority.principal
        options = {
            "model": params.get("model"),
            "thinking": WORDS.get(params.get("thinking") or ""),
            "queue": params.get("queueMode"),
            "timeout_s": params["timeoutMs"] / 1000 if params.get("timeoutMs") else None,
        }
        channel = self._channels.home
        message = ClientMessage(
            address=Address(channel, session_key),
            message_id=f"{principal}/{run_id}",
            sender=f"{channel}:user:{principal}",
            text=params["message"],
            images=images_of(params["attachments"]),
            sent_at=self._clock.time(),
            session_key=session_key,
            run_id=run_id,
            options={name: value for name, value in options.items() if value is not None},
        )
        receipt = await self._inbox.receive(message, call.context)
        if not receipt.accepted:
            raise Conflict(receipt.reply or receipt.reason or "the message was not accepted")
        key = receipt.session_key or session_key
        if receipt.run_id is not None:
            at_once = {"reply": receipt.reply} if receipt.reply is not None else {}
            return {"runId": receipt.run_id, "status": "started", "sessionKey": key, **at_once}
        reply = receipt.reply or ""
        self._events.chat_final(run_id, key, reply)
        return {"runId": run_id, "status": "ok", "sessionKey": key, "reply": reply}

    def _key(self, params: Mapping[str, Any]) -> str:
        return self._keys.full_key(params["sessionKey"], params.get("agentId"))

    async def _abort(self, call: MethodCall) -> Mapping[str, Any]:
        key = self._key(call.params)
        stopped = self._keys.stop(key, call.params.get("runId"))
        return {"ok": True, "aborted": bool(stopped), "runIds": stopped}

    async def _inject(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        key = self._key(params)
        label = params.get("label")
        text = f"[{label}]\n\n{params['message']}" if label else params["message"]
        session = await self._sessions.ensure(key, person=call.caller.authority.person)
        transcript = await self._sessions.open_transcript(session)
        entry = TranscriptEntry(
            EntryType.MESSAGE,
            int(self._clock.time() * 1000),
            message=Message(Role.ASSISTANT, (TextBlock(text),)),
            provenance=provenance_of(call.caller.authority, key, session.person),
        )
        await transcript.append(entry, sync=True)
        self._sessions.touch(key)
        self._events.chat_final(f"inject-{entry.id}", key, text)
        return {"ok": True, "messageId": entry.id}
