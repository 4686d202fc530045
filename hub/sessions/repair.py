"""Repair of damaged or interrupted conversations for a model: every tool call gets a result. Pure rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hub.models.contract import Message, Role, ToolCallBlock, tool_result

INTERRUPTED = "interrupted: the hub stopped before this call had a result; it may or may not have taken effect"


def interrupted_result(call: ToolCallBlock) -> Message:
    """Return a substitute result for a call without one."""
    return tool_result(call, INTERRUPTED, is_error=True)


def pair_results(messages: Iterable[Message]) -> list[Message]:
    """Return the conversation with each tool result directly after its call, in the order of the calls.

    A call without a result gets one that says so; a result without a call is left out. Ids are matched to the nearest
    call before them, since some providers count their calls from the start in each turn. What was said while a call
    went on, by no run, stands before it.
    """
    paired: list[Message | None] = []
    open_slots: dict[str, list[tuple[int, ToolCallBlock]]] = {}
    waiting: dict[int, ToolCallBlock] = {}
    for message in _said_before_calls(messages):
        if message.role is Role.TOOL:
            slots = open_slots.get(message.tool_call_id or "")
            if slots:
                slot, _ = slots.pop(0)
                paired[slot] = message
                del waiting[slot]
            continue
        paired.append(message)
        latest: dict[str, list[tuple[int, ToolCallBlock]]] = {}
        for call in message.tool_calls:
            latest.setdefault(call.id, []).append((len(paired), call))
            waiting[len(paired)] = call
            paired.append(None)
        open_slots.update(latest)
    for slot, call in waiting.items():
        paired[slot] = interrupted_result(call)
    return [message for message in paired if message is not None]


def _said_before_calls(messages: Iterable[Message]) -> list[Message]:
    """Return the conversation with messages between a call and its result moved before the call.

    Models do not continue after an answer of their own.
    """
    ordered: list[Message] = []
    at, waiting = 0, set[str]()
    for message in messages:
        if message.role is Role.TOOL:
            said = [each for each in ordered[at + 1 :] if each.role is Role.ASSISTANT]
            if said and message.tool_call_id in waiting:
                ordered[at:] = [*said, ordered[at], *(each for each in ordered[at + 1 :] if each not in said)]
                at += len(said)
        elif message.tool_calls or message.role is not Role.ASSISTANT:
            at, waiting = len(ordered), {call.id for call in message.tool_calls}
        ordered.append(message)
    return ordered


def pending_calls(messages: Sequence[Message]) -> list[ToolCallBlock]:
    """Return the tool calls of a conversation that have no result, oldest first."""
    pending: dict[str, list[ToolCallBlock]] = {}
    order: list[ToolCallBlock] = []
    for message in messages:
        if message.role is Role.TOOL:
            waiting = pending.get(message.tool_call_id or "")
            if waiting:
                done = waiting.pop(0)
                order = [call for call in order if call is not done]
            continue
        fresh: dict[str, list[ToolCallBlock]] = {}
        for call in message.tool_calls:
            fresh.setdefault(call.id, []).append(call)
            order.append(call)
        pending.update(fresh)
    return order
