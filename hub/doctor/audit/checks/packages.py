"""The packages that Homarus is made with: whether weaknesses of them are known."""

from __future__ import annotations

from collections.abc import Iterator

from hub.core.errors import Unavailable
from hub.core.phrases import phrase
from hub.doctor.audit.advisories import IDS_SHOWN
from hub.doctor.audit.audit_context import AuditContext
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot


def _known_weaknesses(context: AuditContext) -> Iterator[Spot]:
    told = context.live.advisories if context.live is not None else None
    if told is None:
        return
    if told.ids is None:
        raise Unavailable(told.why_not)
    for (name, version), ids in sorted(told.ids.items()):
        shown = ", ".join(ids[:IDS_SHOWN]) + (", …" if len(ids) > IDS_SHOWN else "")
        what = phrase("{package} {version} has known weaknesses: {ids}", package=name, version=version, ids=shown)
        yield Spot(what, file=name, command="homarus update")


CHECKS = (
    AuditCheck(
        "packages.known_weaknesses",
        AuditSeverity.WARNING,
        phrase("Known weaknesses of installed packages"),
        phrase("How to make use of them may be public, wherever text of others reaches that package."),
        phrase("Look an id up at osv.dev. A later version of Homarus brings later packages; update when there is one."),
        _known_weaknesses,
        deep=True,
    ),
)
