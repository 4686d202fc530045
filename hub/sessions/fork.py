"""A copy of a conversation up to now, which continues on its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from hub.core.errors import NotFound
from hub.core.ids import new_id
from hub.sessions.keys import direct_key
from hub.sessions.session import SETTINGS, Session
from hub.sessions.store import SessionStore
from hub.tools.kept_results import KeptResults


async def fork_session(
    sessions: SessionStore,
    source: Session,
    channel: str,
    title: str,
    kept: KeptResults | None = None,
    *,
    run_id: str | None = None,
) -> Session:
    """Return a new session that begins as a copy of another one, with its settings and its taint.

    Every entry keeps its author. When they cannot be written, there is no new session.

    Args:
        sessions: The store.
        source: The session that is copied; it is not changed.
        channel: The home channel, where the new one can be opened.
        title: The title of the new one.
        kept: Long results of tools, which the new one can read on too.
        run_id: The last run that is copied; None for all that was said.

    Raises:
        NotFound: There is no such run in it.
        Unavailable: The disk failed.
    """
    transcript = await sessions.open_transcript(source)
    branch = transcript.branch()
    if run_id is not None:
        ends = [at for at, entry in enumerate(branch) if entry.run_id == run_id]
        if not ends:
            raise NotFound(f"there is no run {run_id[:80]!r} in this conversation")
        branch = branch[: ends[-1] + 1]
    key = direct_key(source.agent_id, new_id(), channel=channel)
    settings = {name: getattr(source, name) for name in SETTINGS}
    await sessions.ensure(key, person=source.person, copy_of=source.key)
    try:
        fork = await sessions.patch(key, title=title, tainted=source.tainted, **settings)
        parents = [None, *(entry.id for entry in branch)]
        copies = [replace(entry, parent_id=parent) for entry, parent in zip(branch, parents, strict=False)]
        await (await sessions.open_transcript(fork)).append(copies, sync=True)
        if kept is not None:
            await asyncio.to_thread(kept.share, source.key, key)
    except BaseException:
        await sessions.delete(key)
        raise
    return fork


def copies_as_tree(sessions: Iterable[Session]) -> list[tuple[Session, int]]:
    """Return the sessions that are or have copies, each after its original, with its depth.

    A copy without its original begins a tree of its own.
    """
    known = {each.key: each for each in sessions}
    below: dict[str | None, list[Session]] = {}
    for each in known.values():
        below.setdefault(each.copy_of if each.copy_of in known else None, []).append(each)

    def walk(key: str | None, depth: int) -> Iterator[tuple[Session, int]]:
        for each in below.pop(key, ()):
            if depth or each.copy_of or each.key in below:
                yield each, depth
            yield from walk(each.key, depth + 1)

    return list(walk(None, 0))
