"""The tool `voice_call`: an agent calls somebody, speaks and listens, puts through, and hangs up.

Calling and putting through ask the owner each time: they cost money, and speak for the home.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from hub.core.context import Authority
from hub.core.errors import Forbidden, InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.schema import All, In, Length, Optional, Required, Schema, SchemaError, string
from hub.messaging.texts import say
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.channels.voice_call.call import PhoneCall
from integrations.channels.voice_call.channel import TEXT_LENGTH, VoiceCallChannel
from integrations.channels.voice_call.schema import telephone

NAME = "voice_call"
GROUP = "message"
LISTEN_S = 30.0
CALL_S = 300.0
_NEEDED = {"start": ("number", "text"), "say": ("text",), "transfer": ("to",)}


def _complete(arguments: dict[str, Any]) -> dict[str, Any]:
    """Check that nothing is missing, so that nobody is asked about a call that cannot be made."""
    for name in _NEEDED.get(arguments["action"], ()):
        if name not in arguments:
            raise SchemaError(f"needed for the action {arguments['action']}", path=[name])
    return arguments


class CallTool:
    """Acts on calls.

    Args:
        channels: The numbers, by account.
    """

    def __init__(self, channels: Mapping[str, VoiceCallChannel]) -> None:
        self._channels = channels

    def tool(self) -> Tool:
        """Return the tool."""
        able = tuple(name for name, each in self._channels.items() if each.config.outgoing)
        schema: dict[Any, Any] = {
            Required("action"): In(("start", "say", "listen", "transfer", "hang_up", "status")),
            Optional("account", default=able[0]): In(able),
            Optional("number", description="Whom to call, or with whom the call is: +4930123456."): telephone,
            Optional("text", description="start, say, hang_up: what is said, without markup."): All(
                string, Length(min=1, max=TEXT_LENGTH)
            ),
            Optional("to", description="transfer: the number that the call is put through to."): telephone,
        }
        return Tool(
            NAME,
            "Telephone calls. start calls a number, says the text, and returns what is answered. In a call you began: "
            "say says more and returns the answer, listen waits for more, transfer puts it through, hang_up "
            "ends it after a last text. status lists calls and what is left of today's limit. What is said in a call "
            "that came in reaches you by itself, and your answers are spoken: then use only transfer and hang_up.",
            from_schema(Schema(All(schema, _complete))),
            self._run,
            GROUP,
            Annotations(destructive=False, owner_only=False, egress=True),
            approval=self.why_ask,
            timeout_s=CALL_S,
        )

    def why_ask(self, arguments: Mapping[str, Any], authority: Authority) -> str | None:
        """Return why the owner has to approve a call of the tool."""
        if arguments.get("action") == "start":
            return phrase(
                "it calls {number} and says: {text}", number=arguments.get("number"), text=arguments.get("text")
            )
        if arguments.get("action") == "transfer":
            return phrase("it puts a call through to {number}", number=arguments.get("to"))
        return None  # the rest is said in a call that the owner approved, or to whom the conversation is with

    async def _run(self, call: ToolCall) -> ToolResult:
        channel = self._channels[call.arguments["account"]]
        match call.arguments["action"]:
            case "start":
                return await self._start(channel, call)
            case "status":
                return self._status(channel, call)
        phone = self._mine(channel, call)
        text: str = call.arguments.get("text", "")
        match call.arguments["action"]:
            case "say":
                whole = await channel.speak(phone, text)
                return await self._listen(phone, "" if whole else "You were interrupted.")
            case "listen":
                return await self._listen(phone)
            case "transfer":
                await channel.transfer(phone, call.arguments["to"])
                return ToolResult(f"{phone.number} is put through to {call.arguments['to']}; the call is over here")
        if text:
            await channel.speak(phone, text)
        await channel.hang_up(phone, call.run_id)
        return ToolResult(f"the call with {phone.number} is over after {phone.seconds} s. Answer NO_REPLY.")

    async def _start(self, channel: VoiceCallChannel, call: ToolCall) -> ToolResult:
        number = call.arguments["number"]
        if channel.call_with(number) is not None:
            raise InvalidRequest(f"there is a call with {number} already")
        phone = await channel.call_out(number)
        phone.keys.add(call.session_key)
        opening = say("call.opening", channel.config.language)
        await channel.speak(phone, f"{opening} {call.arguments['text']}")
        return await self._listen(phone, f"{number} has answered and heard it.")

    async def _listen(self, phone: PhoneCall, told: str = "") -> ToolResult:
        """Return what the other side says next, with everything before that nobody has read."""
        said: list[str] = []
        if phone.heard.empty() and phone.is_up:
            word, end = asyncio.ensure_future(phone.heard.get()), asyncio.ensure_future(phone.ended.wait())
            await asyncio.wait({word, end}, timeout=LISTEN_S, return_when=asyncio.FIRST_COMPLETED)
            end.cancel()
            if not word.cancel():
                said.append(word.result())
        while not phone.heard.empty():
            said.append(phone.heard.get_nowait())
        heard = f'They said: "{" ".join(said)}"' if said else "They said nothing."
        state = "The call goes on." if phone.is_up else "They hung up."
        return ToolResult(" ".join(filter(None, (told, heard, state))), trusted=not said)

    def _status(self, channel: VoiceCallChannel, call: ToolCall) -> ToolResult:
        lines = [
            f"{'to' if each.outgoing else 'from'} {each.number}: {each.seconds} s"
            for each in channel.calls()
            if call.session_key in each.keys
        ]
        left = f"A call that begins now may last {channel.seconds_left() // 60} minutes."
        return ToolResult(
            "\n".join([*(lines or ["There is no call of this conversation."]), left, channel.describe_day()])
        )

    def _mine(self, channel: VoiceCallChannel, call: ToolCall) -> PhoneCall:
        """Return the call of this conversation.

        Raises:
            NotFound: There is none.
            Forbidden: It belongs to another conversation.
        """
        number = call.arguments.get("number")
        mine = [each for each in channel.calls() if call.session_key in each.keys]
        if number is None and len(mine) == 1:
            return mine[0]
        phone = channel.call_with(number or "")
        if phone is None:
            raise NotFound(
                f"there is no call with {number}" if number else "say the number: there is not just one call"
            )
        if phone not in mine:
            raise Forbidden(f"the call with {number} is of another conversation")
        return phone
