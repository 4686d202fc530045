"""Checks of the security audit: which browsers the assistant uses, and what they reach."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from hub.core.phrases import phrase
from hub.core.surfaces import BROWSER
from hub.doctor.audit.audit_context import AuditContext, in_clear, is_loopback
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot


def _remote(context: AuditContext) -> Iterator[Spot]:
    for name, profile in context.section("browser").get("profiles", {}).items():
        address = profile.get("cdp_url")
        if address is None or is_loopback(urlsplit(address).hostname or ""):
            continue
        keys = context.written(("browser", "profiles", name, "cdp_url"))
        what = phrase("The browser {name} is steered over the network", name=name)
        yield Spot(what, keys, severity=None if in_clear(address) else AuditSeverity.WARNING)


def _own(context: AuditContext) -> Iterator[Spot]:
    for name, profile in context.section("browser").get("profiles", {}).items():
        if profile["mode"] == "attach":
            keys = context.written(("browser", "profiles", name, "mode"))
            what = phrase("In the browser {name} the assistant acts where you are signed in", name=name)
            yield Spot(what, keys)


def _wide(context: AuditContext) -> Iterator[Spot]:
    for each in context.live.credentials if context.live is not None else ():
        if BROWSER in each.scopes and each.scopes != {BROWSER}:
            what = phrase("“{name}” may hand over a tab, and more than that", name=each.name)
            group = "token" if each.kind == "token" else "devices"
            yield Spot(what, file=f"{each.kind}:{each.id}", command=f"homarus {group} revoke {each.id}")


AUDIT = (
    AuditCheck(
        "browser.remote",
        AuditSeverity.CRITICAL,
        phrase("Where browsers are steered from"),
        phrase(
            "A debugging port knows no password: whoever reaches it sees and steers the browser, mail and bank too."
        ),
        phrase("Let the port listen on its own machine only, and reach it by a tunnel such as ssh."),
        _remote,
    ),
    AuditCheck(
        "browser.signed_in",
        AuditSeverity.WARNING,
        phrase("Whether the assistant uses your own browser"),
        phrase("A page that talks it into something has it act in your name wherever you are signed in."),
        phrase("Let it use a browser of its own (mode: managed), and sign in there only where it must."),
        _own,
    ),
    AuditCheck(
        "browser.tab_token",
        AuditSeverity.WARNING,
        phrase("What those who hand over a tab may do"),
        phrase("The token lies in a browser, beside its extensions: it should open nothing but the way for that tab."),
        phrase("Revoke it, and pair the browser with a code of: homarus browser extension pair."),
        _wide,
    ),
)
