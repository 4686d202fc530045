"""Taint: words from outside are in a conversation; counted over all of it, until it is reset or the owner lifts it."""

from __future__ import annotations

from enum import StrEnum

from hub.agent.compaction.entry import COMPACTION
from hub.agent.taint.authorship import is_said_by
from hub.sessions.entry import OWNER, Provenance, TranscriptEntry, event_entry

TAINT_LIFTED = "taint_lifted"
"""Name of the event entry by which the owner lifts the taint of what was said so far."""


class LiftScope(StrEnum):
    """The duration of a lift."""

    TURN = "turn"
    SESSION = "session"


def lift_entry(scope: LiftScope, ts_ms: int) -> TranscriptEntry:
    """Return the entry that lifts the taint of what was said so far: for the owner's next turn, or for good."""
    return event_entry(TAINT_LIFTED, ts_ms, {"scope": scope.value}, provenance=Provenance(who=OWNER))


class ConversationTaint:
    """The taint of a conversation; fed with each of its entries, in order.

    An entry that left the window still counts: the model may have repeated its words while it was there.
    """

    def __init__(self) -> None:
        self._all = _OutsideWords()
        self._since_lift: _OutsideWords | None = None
        self._lifted_run: str | None = None

    def add(self, entry: TranscriptEntry) -> None:
        """Count the next entry."""
        if entry.message is None:
            if entry.data.get("name") == TAINT_LIFTED:
                self._lift(entry)
            elif entry.data.get("name") == COMPACTION:
                self._all.add(entry.provenance)
            return
        self._all.add(entry.provenance)
        if self._since_lift is None:
            return
        if self._lifted_run is None and is_said_by(entry, OWNER):
            self._lifted_run = entry.run_id
        # What the model makes in the lifted turn of what was there before is what the owner has allowed.
        if not entry.provenance.derived:
            self._since_lift.add(entry.provenance)

    def is_heard(self, by: str) -> bool:
        """Whether the answer to this speaker (`taint.authorship.speaker`) may be influenced by words from outside."""
        return self._all.are_there(by)

    def restricts(self, by: str, run_id: str) -> bool:
        """Whether a run of this speaker may do only what needs no approval."""
        since = self._since_lift
        return (self._all if since is None or run_id != self._lifted_run else since).are_there(by)

    def _lift(self, entry: TranscriptEntry) -> None:
        self._lifted_run = None
        if entry.data.get("scope") == LiftScope.SESSION:
            self._all, self._since_lift = _OutsideWords(), None
        else:
            self._since_lift = _OutsideWords()


class _OutsideWords:
    def __init__(self) -> None:
        self._untrusted = False
        self._speakers: set[str] = set()

    def add(self, provenance: Provenance) -> None:
        self._untrusted = self._untrusted or not provenance.trusted
        if ":" in provenance.who:
            self._speakers.add(provenance.who)

    def are_there(self, by: str) -> bool:
        return self._untrusted or not self._speakers <= {by}
