"""The capabilities of this node, missing requirements, and whether its hub can be reached."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .backends.contract import Backend
from .connection import probe
from .exec_policy import policy_for
from .home import NodeHome, NodeProblem, NodeSettings
from .identity import identity_of
from .microphone import listening
from .offers import all_offers


@dataclass(frozen=True, slots=True)
class NodeFinding:
    """One line of the doctor: whether it is well, about what, and what to do."""

    ok: bool
    about: str
    text: str


def examine(home: NodeHome, backend: Backend, *, offline: bool = False) -> list[NodeFinding]:
    """Return all findings; nothing is changed.

    Args:
        offline: Whether the hub is not asked.
    """
    return list(_examine(home, backend, offline=offline))


def _examine(home: NodeHome, backend: Backend, *, offline: bool) -> Iterator[NodeFinding]:
    try:
        settings = home.settings()
    except NodeProblem as problem:
        yield NodeFinding(False, "settings", str(problem))
        settings = NodeSettings()
    if home.key_file.exists():
        yield _judged("key", lambda: identity_of(home).id)
    yield _judged("rules", lambda: f"security {policy_for(home, None).security}, ask {policy_for(home, None).ask}")
    if not settings.url:
        yield NodeFinding(False, "hub", "not paired: homarus node run --pair CODE")
    elif not offline:
        yield _judged("hub", lambda: asyncio.run(probe(settings)))
    if settings.microphone:
        missing = listening(backend.platform)
        yield NodeFinding(not missing, "microphone", missing or "on: what is said here is heard by the hub")
    for each in all_offers(home, settings, backend):
        if not each.works:
            yield NodeFinding(False, each.command, f"needs {' or '.join(each.programs)}: {each.install}")
            continue
        yield NodeFinding(True, each.command, f"permit it in: {each.permission}" if each.permission else "works")


def _judged(about: str, look: Callable[[], str]) -> NodeFinding:
    try:
        return NodeFinding(True, about, look())
    except NodeProblem as problem:
        return NodeFinding(False, about, str(problem))
