"""The tool `tts`: says a text in a voice message of the conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from hub.agent.workspace.workspace import Workspaces, media_folder
from hub.automation.services.agent_messages import AgentMessages, delivery_result, describe_channel
from hub.core.context import Context
from hub.core.errors import InvalidRequest
from hub.core.executors import FILES
from hub.core.ids import new_id
from hub.core.schema import All, Length, Optional, Required, Schema, string
from hub.messaging.contract import MediaKind, OutboundMedia
from hub.messaging.outbox.outbox_rows import NewMessage
from hub.messaging.outbox.replies import ReplyTarget
from hub.models.speech import audio_kind
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema
from integrations.tools.speech.schema import voice

NAME = "tts"
GROUP = "message"
TEXT_LIMIT = 4_000
CALL_LIMIT_S = 150.0
"""For the recording and for sending it."""
SPEAKS = Annotations(destructive=False, open_world=False, owner_only=False, egress=True)

_SCHEMA = Schema(
    {
        Required("text", description="Words to be spoken, without markup."): All(string, Length(min=1, max=TEXT_LIMIT)),
        Optional("voice", description="Another voice than the usual one, by its name."): voice,
    }
)

Speak = Callable[[str, str | None, str | None], Awaitable[bytes]]
"""Returns a recording of a text, in the given voice or the usual one, and the given language or the home's."""


class SpokenWords(Struct, frozen=True):
    """Words to be spoken in a conversation, because of `context`; `voice` and `language` are others than the usual."""

    text: str
    agent_id: str
    session_key: str
    context: Context
    voice: str | None = None
    language: str | None = None


def speech_tool(
    messages: AgentMessages, workspaces: Workspaces, speak: Speak, language_of: Callable[[Context], str | None]
) -> Tool:
    """Return the tool.

    Args:
        messages: Sends the recording.
        workspaces: Store it, among the attachments of the conversation.
        speak: Makes the recording.
        language_of: Returns what the person whom a context is about speaks, if that is known.
    """

    async def run(call: ToolCall) -> ToolResult:
        place = await messages.place(call.run_id, call.session_key)
        if place is None:
            raise InvalidRequest("this run has no chat, so nobody would hear it")
        attached = messages.attached_channel(place.address)
        if MediaKind.AUDIO not in attached.channel.limits.media:
            raise InvalidRequest(f"{attached.channel.name} cannot send recordings. {describe_channel(attached)}")
        text, usual = call.arguments["text"], call.arguments.get("voice")
        words = SpokenWords(text, call.agent_id, call.session_key, call.context, usual, language_of(call.context))
        media = await record(speak, workspaces, words)
        target = ReplyTarget(place.address, call.agent_id, call.session_key, call.context, place.message_id)
        return delivery_result(await messages.send(target, call.run_id, NewMessage(media=(media,))))

    return Tool(
        NAME,
        "Say something in a voice message in this conversation, now, beside your answer. Do not repeat in your answer "
        "what you said; NO_REPLY as your whole answer adds nothing. `[[voice]]` in an answer has that itself spoken.",
        from_schema(_SCHEMA),
        run,
        GROUP,
        SPEAKS,
        approval=lambda arguments, authority: None,
        timeout_s=CALL_LIMIT_S,
    )


async def record(speak: Speak, workspaces: Workspaces, words: SpokenWords) -> OutboundMedia:
    """Return a recording, stored among the attachments of its conversation, which expire.

    Raises:
        InvalidRequest: What speaks gave no recording.
        HubError: It failed.
    """
    data = await speak(words.text, words.voice, words.language)
    kind = audio_kind(data)
    if kind is None:
        raise InvalidRequest("the output of the model or program is not a recording (OGG, MP3, WAV or FLAC)")
    name = f"speech-{new_id()}{kind.suffix}"
    path = await FILES.run(_keep, workspaces, words, name, data)
    return OutboundMedia(MediaKind.AUDIO, path, kind.mime_type, name, voice=kind.as_voice)


def _keep(workspaces: Workspaces, words: SpokenWords, name: str, data: bytes) -> str:
    path = f"{media_folder(words.session_key)}/{name}"
    if not workspaces.is_ready(words.agent_id):
        workspaces.ensure(words.agent_id)
    root = workspaces.root(words.agent_id)
    if workspaces.outside.writes_from_outside(words.context.authority):
        workspaces.outside.mark(words.agent_id, path, data)
    root.write_bytes(path, data, parents=True, executable=False)
    return str(root.path / path)
