"""Makes the checks of the audit, and says who can reach what."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from hub.core.errors import HubError
from hub.core.phrases import Phrase, phrase
from hub.doctor.audit.audit_context import AuditContext
from hub.doctor.audit.registry import checks_of
from hub.doctor.audit.weakness import RANK, AuditCheck, AuditSeverity, Weakness
from hub.gateway.calls.settings import AuthMode
from hub.messaging.access.access import ANYBODY, DmPolicy, GroupPolicy

_log = logging.getLogger(__name__)

OF_ONE_CHECK = 50
"""Findings of one check that are shown; the others are, once these are mended."""
NAMES_SHOWN = 20


class Reach(Struct, frozen=True):
    """A way into the home, and who can go it.

    Attributes:
        what: The way: an address, an account, a kind of credential.
        who: Who can use it.
        wide: Whether people who were not let in one by one can.
    """

    what: str
    who: str
    wide: bool = False


class AuditReport(Struct, frozen=True):
    """The result of an audit.

    Attributes:
        found: The weaknesses, the worst first.
        checks: All checks that were made.
        reach: Who can reach what.
        live: Whether a running hub was asked.
        failed: Ids of checks that could not be made.
    """

    found: tuple[Weakness, ...]
    checks: tuple[AuditCheck, ...]
    reach: tuple[Reach, ...]
    live: bool
    failed: tuple[str, ...] = ()

    def of(self, severity: AuditSeverity) -> list[Weakness]:
        """Return the findings of a severity."""
        return [each for each in self.found if each.severity is severity]

    @property
    def sound(self) -> bool:
        """Whether nothing above a note was found."""
        return not self.failed and all(each.severity is AuditSeverity.NOTE for each in self.found)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data; its texts are phrases."""
        hit = {each.check.id for each in self.found}
        return {
            "sound": self.sound,
            "live": self.live,
            "counts": {each.value: len(self.of(each)) for each in AuditSeverity},
            "findings": [each.as_dict() for each in self.found],
            "reach": [{"what": each.what, "who": each.who, "wide": each.wide} for each in self.reach],
            "checks": [
                {
                    "id": each.id,
                    "looksAt": each.looks_at,
                    "ok": each.id not in hit and each.id not in self.failed,
                    "failed": each.id in self.failed,
                }
                for each in self.checks
            ],
        }


def audit(context: AuditContext, checks: Sequence[AuditCheck] | None = None, *, deep: bool = False) -> AuditReport:
    """Make the checks on a home; nothing is changed. Blocks.

    Args:
        checks: All of the home without it.
        deep: Whether the listeners are tried, too.
    """
    made = tuple(each for each in checks or checks_of(context) if deep or not each.deep)
    found: list[Weakness] = []
    failed: list[str] = []
    for check in made:
        try:
            found += _find_placed(context, check)
        except (HubError, OSError) as problem:
            _log.warning("the check %s could not be made: %s", check.id, problem)
            failed.append(check.id)
        except Exception:  # a mistake in one check must not hide what the others find
            _log.exception("the check %s failed", check.id)
            failed.append(check.id)
    found.sort(key=lambda each: RANK[each.severity])
    return AuditReport(tuple(found), made, tuple(reach_of(context)), context.live is not None, tuple(failed))


def _find_placed(context: AuditContext, check: AuditCheck) -> list[Weakness]:
    found = []
    for spot in check.look(context):
        location: dict[str, Any] | None = None
        if spot.keys:
            location = {**context.config.location(spot.keys), "path": Weakness(check, spot).place}
        elif spot.file:
            location = {"file": spot.file, "line": spot.line, "column": None, "path": ""}
        found.append(Weakness(check, spot, location))
        if len(found) == OF_ONE_CHECK:
            break
    return found


def reach_of(context: AuditContext) -> Iterator[Reach]:
    """Return who can reach what: listeners, accounts, strangers, tokens and devices."""
    yield from _doors(context)
    for account in context.accounts:
        yield _written_to(account.name, account.stated, wide=account.open_dm)
        if account.stated["group_policy"] != GroupPolicy.DISABLED and (account.open_groups or account.stated["groups"]):
            groups = [key for key in account.stated["groups"] if key != ANYBODY]
            who: Phrase = phrase("every group that somebody adds it to")
            if not account.open_groups:
                who = phrase("{count} groups that you listed", count=len(groups))
            yield Reach(phrase("{account} in groups", account=account.name), who, account.open_groups)
    profile = context.section("tools").get("strangers", "minimal")
    if context.open_to_strangers:
        told = phrase("the tools of the profile {profile}", profile=profile)
        yield Reach(phrase("What strangers may use"), told, profile != "minimal")
    yield from _credentials(context)


def _doors(context: AuditContext) -> Iterator[Reach]:
    http = context.http
    ways = {
        AuthMode.TOKEN: phrase("with a token"),
        AuthMode.PASSWORD: phrase("with the password or a token"),
        AuthMode.TRUSTED_PROXY: phrase("whom your proxy names"),
        AuthMode.NONE: phrase("without a sign-in"),
    }
    live = context.live.listeners if context.live is not None else ()
    if not any(each.is_gateway for each in live):
        where = phrase("this machine alone") if http.loopback else phrase("everybody on the network")
        what = phrase("Dashboard and API ({address})", address=f"{http.host}:{http.port}")
        yield Reach(what, phrase("{who}, {how}", who=where, how=ways[http.mode]), not http.loopback)
    for each in live:
        where = phrase("this machine alone") if each.local else phrase("everybody on the network")
        if each.is_gateway:
            what = phrase("Dashboard and API ({address})", address=str(each))
            yield Reach(what, phrase("{who}, {how}", who=where, how=ways[http.mode]), not each.local)
        else:
            yield Reach(phrase("Another port of the hub ({address})", address=str(each)), where, not each.local)


def _written_to(name: str, stated: Any, *, wide: bool) -> Reach:
    listed = len([each for each in stated["allow_from"] if each != ANYBODY])
    who = {
        DmPolicy.OPEN: phrase("everybody"),
        DmPolicy.PAIRING: phrase("people of this home, and whom you paired"),
        DmPolicy.ALLOWLIST: phrase("the owner, and whom you listed"),
        DmPolicy.DISABLED: phrase("nobody"),
    }[DmPolicy(stated["dm_policy"])]
    if listed and stated["dm_policy"] == DmPolicy.PAIRING:
        who = phrase("{who}, and {count} that you listed", who=who, count=listed)
    return Reach(phrase("{account}, direct messages", account=name), who, wide)


def _credentials(context: AuditContext) -> Iterator[Reach]:
    if context.live is None:
        return
    for kind, text in (("token", phrase("Programs with a token")), ("device", phrase("Paired devices"))):
        found = [each.name for each in context.live.credentials if each.kind == kind]
        if found:
            yield Reach(text, ", ".join(found[:NAMES_SHOWN]) + (", …" if len(found) > NAMES_SHOWN else ""))
