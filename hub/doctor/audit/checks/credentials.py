"""Keys, tokens and devices: where they are written, where they go, and which nobody uses any more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

from hub.config.paths import KeyPath, format_path
from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.core.slugs import slugify
from hub.core.surfaces import ADMIN, PAIRING, WRITE
from hub.doctor.audit.audit_context import AuditContext, Credential, in_clear, leaves
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot

DAY_MS = 86_400_000
UNUSED_MS = 90 * DAY_MS
HASHED = "$argon2"
DOORS: tuple[KeyPath, ...] = (("http", "auth", "password"), ("http", "auth", "proxy_secret"), ("backup", "passphrase"))
"""Secrets that open the home itself."""
OPENING = frozenset({ADMIN, WRITE, PAIRING})
"""Scopes with which one acts."""


def _written_out(context: AuditContext) -> Iterator[Spot]:
    for keys, secret in context.secrets:
        stated = context.stated(keys)
        if isinstance(stated, str) and not secret.reveal().startswith(HASHED):
            what = phrase("{key} is written out in the configuration", key=format_path(keys))
            words = [str(each) for each in keys if isinstance(each, str)]
            yield Spot(what, keys, to_secret=slugify("_".join(words)))


def _used_twice(context: AuditContext) -> Iterator[Spot]:
    """Find what opens the home and is used for something else too; names of one secret in two places count."""
    places: dict[Secret, list[KeyPath]] = defaultdict(list)
    for keys, secret in context.secrets:
        places[secret].append(keys)
    for found in places.values():
        doors = [keys for keys in found if keys in DOORS or _is_webhook(context, keys)]
        if not doors or len(found) < 2:
            continue
        other = next(keys for keys in found if keys != doors[0])
        what = phrase("{key} is the same secret as {other}", key=format_path(doors[0]), other=format_path(other))
        yield Spot(what, doors[0], severity=None if doors[0] in DOORS else AuditSeverity.WARNING)


def _is_webhook(context: AuditContext, keys: KeyPath) -> bool:
    return keys[-1] == "secret" and isinstance(holder := context.stated(keys[:-1]), dict) and "webhook_id" in holder


def _in_the_clear(context: AuditContext) -> Iterator[Spot]:
    """Find addresses without encryption that have a secret beside them, or one level below, such as among headers."""
    holders = {keys[:-1] for keys, _ in context.secrets} | {keys[:-2] for keys, _ in context.secrets if len(keys) > 2}
    for name in sorted(context.config.present & context.config.sections.keys()):
        for checked, value in leaves(context.config[name], (name,)):
            host, keys = in_clear(value), context.written(checked)
            if host is not None and len(keys) > 1 and keys[:-1] in holders:
                yield Spot(phrase("A key or password goes to {host} unencrypted", host=host), keys)


def _unused(context: AuditContext) -> Iterator[Spot]:
    for each in _acting(context):
        quiet_ms = context.now_ms - (each.used_ms or each.created_ms)
        if quiet_ms < UNUSED_MS:
            continue
        words = {"name": each.name, "days": quiet_ms // DAY_MS}
        if each.kind == "device":
            what = phrase("The device “{name}” may still come in, and was not seen for {days} days", **words)
            command = f"homarus devices remove {each.id}"
        elif each.used_ms is None:
            what = phrase("The token “{name}” was never used in {days} days", **words)
            command = f"homarus token revoke {each.id}"
        else:
            what = phrase("The token “{name}” was not used for {days} days", **words)
            command = f"homarus token revoke {each.id}"
        yield Spot(what, file=f"{each.kind}:{each.id}", command=command, severity=_by_rights(each))


def _for_ever(context: AuditContext) -> Iterator[Spot]:
    for each in _acting(context):
        if each.kind == "token" and each.expires_ms is None and ADMIN in each.scopes:
            made = datetime.fromtimestamp(each.created_ms / 1000, UTC).date().isoformat()
            what = phrase("The token “{name}” may do everything and never ends, since {day}", name=each.name, day=made)
            yield Spot(what, file=f"{each.kind}:{each.id}", command=f"homarus token revoke {each.id}")


def _acting(context: AuditContext) -> Iterator[Credential]:
    yield from () if context.live is None else context.live.credentials


def _by_rights(credential: Credential) -> AuditSeverity | None:
    return None if credential.scopes & OPENING else AuditSeverity.NOTE


def _owners(context: AuditContext) -> Iterator[Spot]:
    owners = [each for each in context.section("people") or () if each.get("owner")]
    if len(owners) > 1:
        names = [str(each.get("name") or each["id"]) for each in owners]
        yield Spot(phrase("{names} own this home, and may do everything", names=names), ("people",))


def _clear_backups(context: AuditContext) -> Iterator[Spot]:
    section = context.section("backup")
    if not section or "passphrase" in section:
        return
    elsewhere = [name for name in ("webdav", "s3") if name in section["to"]]
    if elsewhere:
        yield Spot(phrase("Copies of backups are kept elsewhere, unencrypted"), ("backup", "to", elsewhere[0]))
    elif section["schedule"]["every"] != "never":
        yield Spot(phrase("Backups are not encrypted"), ("backup",), severity=AuditSeverity.NOTE)


CHECKS = (
    AuditCheck(
        "secrets.written_out",
        AuditSeverity.WARNING,
        phrase("Where keys and passwords are written"),
        phrase("Whoever is shown the configuration, in a question to a forum for example, is shown the key too."),
        phrase("Keep it in secrets.yaml, and write !secret and its name in its place."),
        _written_out,
    ),
    AuditCheck(
        "secrets.used_twice",
        AuditSeverity.CRITICAL,
        phrase("Whether a secret opens two things"),
        phrase("Whoever learns it in the one place gets in at the other."),
        phrase("Make a secret of its own for each."),
        _used_twice,
    ),
    AuditCheck(
        "secrets.in_the_clear",
        AuditSeverity.WARNING,
        phrase("Whether keys and passwords cross the network encrypted"),
        phrase("Whoever shares the network reads the key along, and can use it as you do."),
        phrase("Use an address with https, or put the service behind a proxy that has it."),
        _in_the_clear,
    ),
    AuditCheck(
        "credentials.unused",
        AuditSeverity.WARNING,
        phrase("Tokens and devices that nobody uses"),
        phrase("An old phone or a forgotten program still opens your home, for whoever has it now."),
        phrase("Take it away; what still needs it can be let in again."),
        _unused,
    ),
    AuditCheck(
        "credentials.for_ever",
        AuditSeverity.NOTE,
        phrase("Tokens that may do everything"),
        phrase("A copy of it in a backup or a log opens your home for good."),
        phrase("Make one with fewer rights, or one that ends, and revoke this one."),
        _for_ever,
    ),
    AuditCheck(
        "people.owners",
        AuditSeverity.NOTE,
        phrase("Who owns this home"),
        phrase("An owner's chat account is a key to the home: who takes it over may do everything."),
        phrase("Make only those owners who look after the hub; people need no ownership to use it."),
        _owners,
    ),
    AuditCheck(
        "backup.unencrypted",
        AuditSeverity.WARNING,
        phrase("Whether backups are encrypted"),
        phrase("A backup holds all keys, tokens and conversations: whoever has the file has your home."),
        phrase("Set backup.passphrase, and keep the passphrase somewhere else too."),
        _clear_backups,
    ),
)
