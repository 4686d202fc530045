"""All that this node offers to the hub: its platform's commands, running programs, and the files that it shares."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from .backends.contract import Backend, Handler, Offer
from .files import SharedFiles
from .home import NodeHome, NodeSettings
from .messages_app import MessagesApp
from .microphone import play_offer
from .system_run import SystemRun


def all_offers(home: NodeHome, settings: NodeSettings, backend: Backend) -> list[Offer]:
    """Return every command that this node can have, also those whose programs are missing."""
    running = SystemRun(home)
    found = [
        *backend.offers(),
        Offer("system.which", running.which),
        Offer("system.run", running.run),
        Offer("system.run.prepare", running.prepare),
        Offer("system.execApprovals.get", running.approvals),
    ]
    if settings.shared:
        files = SharedFiles(Path(settings.shared))
        found += [
            Offer("dir.list", files.list),
            Offer("file.stat", files.stat),
            Offer("file.fetch", files.fetch),
            Offer("file.write", files.write),
        ]
    if settings.imessage and backend.platform == "macos":
        found += MessagesApp(Path("~/Library/Messages")).offers()
    if settings.microphone:
        found.append(play_offer(backend.platform))
    return [each for each in found if not any(fnmatchcase(each.command, denied) for denied in settings.deny)]


def handlers_of(offers: list[Offer]) -> dict[str, Handler]:
    """Return the handlers of the commands that work here, by command."""
    return {each.command: each.handler for each in offers if each.works}
