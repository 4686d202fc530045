"""Groups the parts of a turn for a reader: calls of tools in groups, and cards of questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from hub.agent.conversation.side_note import MEMORY
from web.chat.asks import ShownAsk
from web.chat.shown import ShownPart, ShownTurn

LOOKS = frozenset(
    {"memory_search", "memory_get", "read", "ls", "find", "grep", "find_tools", "web_search", "web_fetch", "get_state"}
    | {"session_status", "sessions_list", "sessions_history", "sessions_search", "agents_list", "image", "skill", "rss"}
)
"""Tools that change nothing: a group of them looked at things."""


CANVAS = "canvas"
FILE_TOOLS = frozenset({"read", "write", "edit"})
LISTED = 12
"""Facts and files of a conversation that are listed beside it."""
WIDGET = "show_widget"
"""A call that is shown as what it made, never in a group."""


class ToolGroup(Struct):
    """Calls of tools, and the thinking between them, in one row.

    Attributes:
        id: The id of its element, made from its first part: the same while the run is live and after it was stored.
        parts: Calls and thoughts, in order.
    """

    id: str
    parts: list[ShownPart] = field(default_factory=list)
    kind: str = "tools"

    @property
    def calls(self) -> list[ShownPart]:
        """The calls alone."""
        return [part for part in self.parts if part.kind == "tool"]

    @property
    def state(self) -> str:
        """Its state: waiting | running | error | interrupted | done, the first of them that holds for a call."""
        states = {part.state for part in self.calls}
        return next((each for each in ("waiting", "running", "error", "interrupted") if each in states), "done")

    @property
    def icon(self) -> str:
        """The icon of its calls when they are of one kind."""
        icons = {part.icon for part in self.calls} or {"sparkles"}
        return icons.pop() if len(icons) == 1 else "wrench"

    @property
    def looks(self) -> bool:
        """Whether nothing was changed."""
        return all(part.name in LOOKS for part in self.calls)

    @property
    def seconds(self) -> float:
        """Its duration in seconds; 0 while it is not known."""
        ended = [part.ended_ms for part in self.calls if part.ended_ms]
        started = [part.started_ms for part in self.calls if part.started_ms]
        return max(0.0, (max(ended) - min(started)) / 1000) if ended and started else 0.0


Piece = ShownPart | ToolGroup | ShownAsk


def pieces_of(parts: Iterable[ShownPart], asks: Sequence[ShownAsk] = ()) -> list[Piece]:
    """Return the content of a turn, calls in groups; a card follows the call that asked."""
    parts = list(parts)
    behind: dict[int, list[ShownAsk]] = {}
    for ask in asks:
        behind.setdefault(_asker(parts, ask), []).append(ask)
    pieces: list[Piece] = []
    group: ToolGroup | None = None
    for at, part in enumerate(parts):
        if part.kind not in ("tool", "thinking") or part.name == WIDGET:
            group = None
            pieces.append(part)
        elif group is None:
            group = ToolGroup(f"g-{part.id}", [part])
            pieces.append(group)
        else:
            group.parts.append(part)
        if at in behind:
            group = None
            pieces.extend(behind[at])
    return [*pieces, *behind.get(-1, ())]


def _asker(parts: Sequence[ShownPart], ask: ShownAsk) -> int:
    """Return the index of the call that was not over when something was asked; else of the last part."""
    calls = (at for at, part in enumerate(parts) if part.kind == "tool")
    open_then = (at for at in calls if not parts[at].ended_ms or parts[at].ended_ms >= ask.created_ms)
    return next(open_then, len(parts) - 1)


def recalled_memories(turns: Iterable[ShownTurn]) -> list[str]:
    """Return the recalled memories in some turns, a line each, the newest first."""
    notes = [part.text for turn in turns if turn.channel == MEMORY for part in turn.parts if part.kind == "text"]
    lines = [
        line.removeprefix("> ").strip() for text in reversed(notes) for line in text.splitlines() if line[:1] == ">"
    ]
    return list(dict.fromkeys(line for line in lines if line))[:LISTED]


def uses_canvas(turns: Iterable[ShownTurn]) -> bool:
    """Whether something was put on the canvas in some turns."""
    return any(part.name == CANVAS and part.state == "done" for turn in turns for part in turn.parts)


def files_of(turns: Iterable[ShownTurn]) -> list[str]:
    """Return the files that were read or written in some turns, the newest first."""
    calls = [part for turn in turns for part in turn.parts if part.name in FILE_TOOLS and part.state == "done"]
    return list(dict.fromkeys(part.brief for part in reversed(calls) if part.brief))[:LISTED]
