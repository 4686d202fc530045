"""The tool `message`: sends to the conversation of a run or to another chat, and acts on messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from hub.automation.services.agent_messages import AgentMessages, delivery_result
from hub.core.context import Authority
from hub.core.errors import InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.schema import All, In, Length, Optional, Required, Schema, boolean, string
from hub.messaging.contract import Button, OutboundMedia
from hub.messaging.outbox.outbox_rows import NewMessage, NewPoll, NewReaction, NewText, Outgoing, Withdrawal
from hub.messaging.outbox.replies import ReplyTarget
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

NAME = "message"
GROUP = "message"
TEXT_LIMIT = 20_000
SENDS = Annotations(destructive=False, open_world=False, owner_only=False, egress=True)

_SHORT = All(string, Length(min=1, max=512))
MESSAGE_SCHEMA = Schema(
    {
        Required("action"): In(("send", "reply", "edit", "delete", "react", "poll")),
        Optional("text"): All(string, Length(max=TEXT_LIMIT)),
        Optional("message_id", description="For reply (default: the message you answer), edit, delete, react."): _SHORT,
        Optional("emoji", description="For react; without it the reaction is removed."): _SHORT,
        Optional("question"): _SHORT,
        Optional("options", description="For poll."): All([_SHORT], Length(min=2, max=20)),
        Optional("multiple", description="For poll: several choices."): boolean,
        Optional("media", description="Files of your workspace to attach."): All([_SHORT], Length(max=10)),
        Optional("voice", description="Send audio as a voice message."): boolean,
        Optional("buttons", description="Labels; the one pressed comes back to you."): All([_SHORT], Length(max=20)),
        Optional("silent"): boolean,
        Optional("channel", description="Of to."): _SHORT,
        Optional("to", description="Another chat: a name, its id on channel, or telegram:123456."): _SHORT,
        Optional("account"): _SHORT,
        Optional("thread"): _SHORT,
    }
)


def message_tool(messages: AgentMessages) -> Tool:
    """Return the tool, which sends through this service."""
    return Tool(
        NAME,
        "Send something now, beside your answer: text, files, buttons, a poll, a reaction; or edit and delete what you "
        "sent. It goes to this conversation unless to is given. A pressed button begins a turn of yours; votes and "
        "reactions are reported in your next turn. What the chat app cannot do is refused with what it can. Do not "
        "repeat in your answer what you sent; NO_REPLY as your whole answer adds nothing.",
        from_schema(MESSAGE_SCHEMA),
        _MessageTool(messages).run,
        GROUP,
        SENDS,
        approval=why_ask,
    )


def why_ask(arguments: Mapping[str, Any], authority: Authority) -> str | None:
    """Return why the owner has to approve a call: it leaves the conversation on somebody else's word."""
    elsewhere = [f"{name} {arguments[name]}" for name in ("channel", "to", "account", "thread") if name in arguments]
    if elsewhere and (authority.tainted or not authority.owner):
        return phrase("it sends to another chat: {where}", where=", ".join(elsewhere))
    if authority.tainted and arguments["action"] == "delete":
        return phrase("it deletes a message, and text that others wrote is in this conversation")
    if authority.tainted and arguments.get("media"):
        return phrase("it sends {files}, and text that others wrote is in this conversation", files=arguments["media"])
    return None


class _MessageTool:
    def __init__(self, messages: AgentMessages) -> None:
        self._messages = messages

    async def run(self, call: ToolCall) -> ToolResult:
        target = await self._target(call)
        self._messages.attached_channel(target.address)
        rows = await self._messages.send(target, call.run_id, self._outgoing(call.arguments, target))
        return delivery_result(rows)

    async def _target(self, call: ToolCall) -> ReplyTarget:
        arguments = call.arguments
        current = await self._messages.place(call.run_id, call.session_key)
        if "to" in arguments or "channel" in arguments:
            if "to" not in arguments:
                raise InvalidRequest("to: expected a chat on that channel, or leave channel out for this conversation")
            channel, account = arguments.get("channel"), arguments.get("account")
            found = await self._messages.at(channel, arguments["to"], account, arguments.get("thread"))
            address, message_id = found.address, None
        elif current is None:
            raise InvalidRequest("to: expected an address such as telegram:123456, since this run has no chat")
        else:
            address, message_id = current.address, current.message_id
            if "thread" in arguments:
                address = replace(address, thread=arguments["thread"])
        return ReplyTarget(address, call.agent_id, call.session_key, call.context, message_id)

    def _outgoing(self, arguments: Mapping[str, Any], target: ReplyTarget) -> Outgoing:
        text = arguments.get("text", "").strip()
        match arguments["action"]:
            case "send":
                return self._message(arguments, target, text, None)
            case "reply":
                return self._message(arguments, target, text, arguments.get("message_id", target.message_id))
            case "edit":
                return NewText(_given(text, "text"), platform_id=_given(arguments.get("message_id"), "message_id"))
            case "delete":
                return Withdrawal(_given(arguments.get("message_id"), "message_id"))
            case "react":
                message_id = _given(arguments.get("message_id", target.message_id), "message_id")
                return NewReaction(message_id, arguments.get("emoji"))
        options = _given(arguments.get("options"), "options")
        question = _given(arguments.get("question", text), "question")
        return NewPoll(question, tuple(options), arguments.get("multiple", False))

    def _message(
        self, arguments: Mapping[str, Any], target: ReplyTarget, text: str, reply_to: str | None
    ) -> NewMessage:
        media = tuple(self._attachment(path, target, arguments) for path in arguments.get("media", ()))
        if not text and not media:
            raise InvalidRequest("text: expected the text to send")
        buttons = tuple((Button(label, label),) for label in arguments.get("buttons", ()))
        return NewMessage(text, media, buttons, arguments.get("silent", False), reply_to)

    def _attachment(self, path: str, target: ReplyTarget, arguments: Mapping[str, Any]) -> OutboundMedia:
        found = self._messages.replies.attachment(path, target, voice=arguments.get("voice", False))
        if found is None:
            raise NotFound(f"media: there is no file {path!r} in your workspace")
        return found


def _given(value: Any, name: str) -> Any:
    if not value:
        raise InvalidRequest(f"{name}: missing")
    return value
