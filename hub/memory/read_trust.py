"""Whether lines of a memory file may be taken for the words of this home's people."""

from __future__ import annotations

from hub.memory.contract import UNTRUSTED_MARK, Memory, Scope
from hub.memory.markdown import FRONT_LINES, front_matter

ELSEWHERE = ("extra/", "transcripts/")
"""What is read here alone and was written elsewhere; only a search knows which of it is trusted."""


async def may_be_trusted(memory: Memory, path: str, text: str, *, agent_id: str, scope: Scope) -> bool:
    """Whether nothing in lines that `memory.get` returned came from outside, as far as the file tells.

    Args:
        memory: Gives the beginning of the file, where it says what holds for all of it.
        path: Where the lines stand.
        text: The lines, each entry with the line that says where it came from.
        agent_id, scope: As for `memory.get`.
    """
    if UNTRUSTED_MARK in text or path.startswith(ELSEWHERE):
        return False
    head = await memory.get(path, agent_id=agent_id, scope=scope, lines=FRONT_LINES + 2)
    return front_matter(head)[0].trusted
