"""The texts for a subagent about its role, and for its requester about the result. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hub.agent.subagents.record import Subagent, SubagentState

ANNOUNCE_SKIP = "ANNOUNCE_SKIP"
RESULT_CHARS = 8_000
"""Characters of one result in an announcement; the rest is in the subagent's session."""

_CONTEXT = f"""# Subagent Context
Another conversation gave you one task; it is in the next message. You work in the background.
- Do this task and nothing else. Nobody answers questions: decide, and say what you assumed.
- Your last answer is reported by itself. Make it complete and short: what you did, what you found, what is open.
- When there is nothing to report, answer {ANNOUNCE_SKIP} and nothing else."""
_MAY_SPAWN = """- You may give parts of it to subagents of your own with `sessions_spawn`. Their results come to you as
  messages: end your turn to wait for them, and answer for good when you have all of them."""

_IN_THREAD = "- You have a thread in a chat. Once you have reported, people can write to you there; answer them then."

_ANNOUNCED = """[Subagent results]
What you gave to subagents has ended. Go on with it: tell the person what matters in your own words, or take the next \
step. When nothing has to be said, answer NO_REPLY and nothing else."""

_STATUS = {
    SubagentState.COMPLETED: "completed",
    SubagentState.FAILED: "failed",
    SubagentState.TIMED_OUT: "timed out",
    SubagentState.KILLED: "killed",
    SubagentState.INTERRUPTED: "interrupted (the hub stopped while it worked; it was not done again)",
}


def subagent_context(depth: int, max_depth: int, *, in_thread: bool = False) -> str:
    """Return the section of a subagent's prompt about its role.

    Args:
        depth: How deep it is nested.
        max_depth: How deep subagents may be.
        in_thread: Whether it has a thread that stays.
    """
    parts = (_CONTEXT, _MAY_SPAWN if depth < max_depth else "", _IN_THREAD if in_thread else "")
    return "\n".join(filter(None, parts))


def is_skipped(subagent: Subagent) -> bool:
    """Whether a subagent reported nothing."""
    return subagent.state is SubagentState.COMPLETED and subagent.result.strip() == ANNOUNCE_SKIP


def announcement(subagents: Sequence[Subagent]) -> str:
    """Return the announcement of ended subagents to their requester."""
    return "\n\n".join([_ANNOUNCED, *map(_report, subagents)])


def _report(each: Subagent) -> str:
    result = each.result.strip() or "(nothing)"
    if len(result) > RESULT_CHARS:
        result = f"{result[:RESULT_CHARS]}\n[cut: {len(result)} characters; read {each.session_key} for the rest]"
    seconds = ((each.ended_ms or each.created_ms) - each.created_ms) / 1_000
    cost = f", ${each.cost_usd:.4f}" if each.cost_usd else ""
    facts = f"{seconds:.0f} s, {each.tokens} tokens{cost}, session {each.session_key}"
    return f"## {each.label} ({each.id})\nStatus: {_STATUS[each.state]}\nStatistics: {facts}\nResult:\n{result}"
