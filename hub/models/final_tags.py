"""Models that are told to answer between `<final>` and `</final>`: their servers do not tell thinking from answer."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hub.models.contract import Block, Message, ModelRequest, Role, TextBlock

INSTRUCTION = """## Form of every reply
Think between <think> and </think>. Write what people are to read between <final> and </final>, once, after that.
Only what stands between <final> and </final> reaches anybody; all else is dropped. Calls of tools need no tags."""


def with_final_tags(request: ModelRequest) -> ModelRequest:
    """Return a request that asks for the tags, and has them around what the model said before."""
    system = f"{request.system}\n\n{INSTRUCTION}" if request.system else INSTRUCTION
    return replace(request, system=system, messages=tuple(_tagged(request.messages)), final_tags=True)


def _tagged(messages: Iterable[Message]) -> Iterable[Message]:
    for message in messages:
        if message.role is not Role.ASSISTANT:
            yield message
            continue
        yield replace(message, content=tuple(_in_tags(block) for block in message.content))


def _in_tags(block: Block) -> Block:
    if not isinstance(block, TextBlock) or not block.text.strip():
        return block
    return replace(block, text=f"<final>{block.text}</final>")
