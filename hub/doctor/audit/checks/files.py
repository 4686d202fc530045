"""Files: what other users of this machine can read or change, and where the home lies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from hub.core.phrases import Phrase, phrase
from hub.doctor.audit.audit_context import AuditContext
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot
from hub.doctor.permissions import OTHERS, OTHERS_WRITE, find_exposed

SYNCED = (
    "dropbox",
    "onedrive",
    "google drive",
    "googledrive",
    "nextcloud",
    "owncloud",
    "mobile documents",
    "syncthing",
)
"""Folders that programs copy to other machines, as they are called by default."""


def _open(part: str, grave: Phrase, light: Phrase | None = None) -> Callable[[AuditContext], Iterator[Spot]]:
    def look(context: AuditContext) -> Iterator[Spot]:
        found = [each for each in find_exposed(context.home) if each.part == part]
        if not found:
            return
        first = found[0]
        milder = None if first.grave else AuditSeverity.WARNING
        what = grave if first.grave or light is None else light
        file = context.shown(first.path)
        yield Spot(what, file=file, severity=milder, narrow=tuple(each.path for each in found))

    return look


def _included(context: AuditContext) -> Iterator[Spot]:
    for name in sorted(context.config.files.keys() - {"configuration.yaml", "secrets.yaml"}):
        path = context.home.path / name
        try:
            mode = path.stat().st_mode
        except OSError:
            continue
        if mode & OTHERS_WRITE:
            what = phrase("Other users of this machine can change {file}, which the hub obeys", file=name)
            yield Spot(what, file=name, narrow=(path,))


def _key(context: AuditContext) -> Iterator[Spot]:
    settings = context.http
    if settings.tls is None:
        return
    key = settings.tls[1]
    try:
        mode = key.stat().st_mode
    except OSError:
        return
    if mode & OTHERS:
        what = phrase("Other users of this machine can read the key of the hub's certificate")
        yield Spot(what, file=context.shown(key), narrow=(key,))


def _links(context: AuditContext) -> Iterator[Spot]:
    for path in (context.home.configuration, context.home.secrets, context.home.storage):
        if path.is_symlink():
            what = phrase("{file} is a link to {target}", file=path.name, target=os.readlink(path))
            yield Spot(what, file=path.name)


def _synced(context: AuditContext) -> Iterator[Spot]:
    for part in context.home.path.resolve().parts:
        if part.casefold().startswith(SYNCED):
            what = phrase("The home lies in {folder}, which other machines get a copy of", folder=part)
            yield Spot(what, file=str(context.home.path))
            return


_OTHERS = phrase("Whoever has an account on this machine, and every program that runs there under another user.")
_NARROW = phrase("Let only your own user read and write it.")
CHECKS = (
    AuditCheck(
        "files.home",
        AuditSeverity.CRITICAL,
        phrase("Who may open the home directory"),
        _OTHERS,
        _NARROW,
        _open(
            "home",
            phrase("Other users of this machine can change the home directory"),
            phrase("Other users of this machine can look into the home directory"),
        ),
    ),
    AuditCheck(
        "files.configuration",
        AuditSeverity.CRITICAL,
        phrase("Who may change the configuration"),
        phrase("Whoever changes the configuration decides what the assistant may do, and for whom."),
        _NARROW,
        _open("configuration", phrase("Other users of this machine can change the configuration")),
    ),
    AuditCheck(
        "files.included",
        AuditSeverity.CRITICAL,
        phrase("Who may change the files that the configuration includes"),
        phrase("Whoever changes the configuration decides what the assistant may do, and for whom."),
        _NARROW,
        _included,
    ),
    AuditCheck(
        "files.secrets",
        AuditSeverity.CRITICAL,
        phrase("Who may read the file of secrets"),
        phrase("Whoever reads it has your keys and passwords: they can write as you and spend at your cost."),
        _NARROW,
        _open("secrets", phrase("Other users of this machine can read the file of secrets")),
    ),
    AuditCheck(
        "files.storage",
        AuditSeverity.CRITICAL,
        phrase("Who may read conversations and tokens"),
        phrase("Whoever reads it knows your conversations, and can come in with the hub's own token."),
        _NARROW,
        _open("storage", phrase("Other users of this machine can read what the hub keeps")),
    ),
    AuditCheck(
        "files.code",
        AuditSeverity.CRITICAL,
        phrase("Who may change integrations of your own"),
        phrase("The hub runs what is in there, with all of your rights."),
        _NARROW,
        _open("code", phrase("Other users of this machine can change the programs that the hub runs")),
    ),
    AuditCheck(
        "files.key",
        AuditSeverity.CRITICAL,
        phrase("Who may read the key of the certificate"),
        phrase("With the key, somebody on the network can pose as your hub and read what you send to it."),
        _NARROW,
        _key,
    ),
    AuditCheck(
        "files.links",
        AuditSeverity.NOTE,
        phrase("Whether the configuration lies elsewhere"),
        phrase("What it leads to may be open to others, or be gone when a disk is not there."),
        phrase("Keep the file itself in the home directory, or see who may change what it leads to."),
        _links,
    ),
    AuditCheck(
        "files.synced",
        AuditSeverity.WARNING,
        phrase("Whether a program copies the home to other machines"),
        phrase("Keys, tokens and conversations are copied to a server, and to all machines that take part."),
        phrase("Move the home out of that folder, and use encrypted backups instead."),
        _synced,
    ),
)
