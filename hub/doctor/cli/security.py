"""`homarus doctor --security`: asks the running hub, or looks at the files when none runs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.options import command_on, print_json
from hub.cli.remote import RemoteHome
from hub.core.errors import HubError
from hub.storage.instance_lock import read_running

if TYPE_CHECKING:
    from hub.doctor.audit.audit_context import AuditContext

COLOURS = {"critical": "red", "warning": "yellow", "note": "blue"}
TRY_LIMIT_S = 120.0
NO_HUB = "No hub runs here: tokens, devices and ports were not looked at."


def look(home: Path | RemoteHome, *, deep: bool, fix: bool, only: Sequence[str], as_json: bool) -> Exit:
    """Audit a home, mend what is to be mended, and print the result.

    Args:
        deep: Whether to try the hub's ports too.
        fix: Whether to mend what can be.
        only: Ids of the checks, or of the findings, that are shown and mended; all without any.

    Returns:
        The exit code, which says whether there are findings above a note.
    """
    mended: Mapping[str, Any] | None = None
    if isinstance(home, RemoteHome) or read_running(home) is not None:
        client = HubClient(home)
        if fix:
            mended = client.call("security.fix", {"only": list(only)}, timeout_s=TRY_LIMIT_S)
        report: Mapping[str, Any] = client.call("security.audit", {"deep": deep}, timeout_s=TRY_LIMIT_S)
    elif deep:
        raise CommandFailed("--deep tries the ports of a running hub, and none runs here", Exit.USAGE)
    else:
        if fix:
            mended = _mend(home, only)
        report = _audit(home)
    found = _choose_named(report["findings"], only)
    _refuse_unknown(report, only)
    if as_json:
        print_json({**report, "findings": found, "mended": mended})
    else:
        _tell(home, {**report, "findings": found}, mended)
    failed = mended is not None and bool(mended["failed"])
    broken = any(each["failed"] for each in report["checks"] if not only or each["id"] in only)
    above = any(each["severity"] != "note" for each in found)
    return Exit.FINDINGS if above or failed or broken else Exit.OK


def _choose_named(findings: Sequence[Mapping[str, Any]], only: Sequence[str]) -> list[Mapping[str, Any]]:
    return [each for each in findings if not only or {each["id"], each["check"]} & set(only)]


def _refuse_unknown(report: Mapping[str, Any], only: Sequence[str]) -> None:
    known = {each["id"] for each in report["checks"]}
    for name in only:
        if name.partition("@")[0] not in known:
            raise CommandFailed(f"There is no check {name}; --json lists them all.", Exit.USAGE)


def _audit(home: Path) -> Mapping[str, Any]:
    from hub.doctor.audit.audit import audit

    return audit(_context(home)).as_dict()


def _mend(home: Path, only: Sequence[str]) -> Mapping[str, Any]:
    from hub.cli.configured import editor_of
    from hub.config.history import COMMAND, changed_by
    from hub.doctor.audit.audit import audit
    from hub.doctor.audit.mending import choose, mend

    with changed_by(COMMAND):
        return mend(choose(audit(_context(home)).found, frozenset(only)), editor_of(home)).as_dict()


def _context(home: Path) -> AuditContext:
    from hub.cli.configured import check_home
    from hub.doctor.audit.audit_context import AuditContext
    from hub.integration.catalog import find
    from hub.integration.in_use import in_use
    from hub.sections import needed_domains
    from hub.storage.homedir import Home
    from hub.storage.opening import read_documents

    checked = check_home(home)
    config = checked.config
    if config.recovery:
        first = checked.errors[0] if checked.errors else "it cannot be read"
        raise CommandFailed(f"The configuration is not valid: {first}", Exit.INVALID_CONFIGURATION)
    catalog = find(home)
    used = frozenset(in_use(config, catalog, needed_domains(config, catalog)))
    files = Home(home)
    try:
        files.documents = read_documents(files, config.or_default("storage") or {})
    except HubError as error:
        raise CommandFailed(error.message) from error
    return AuditContext(files, config, catalog, used, int(time.time() * 1000))


def _tell(home: Path | RemoteHome, report: Mapping[str, Any], mended: Mapping[str, Any] | None) -> None:
    click.echo(click.style("Who can reach what", bold=True))
    for each in report["reach"]:
        mark = click.style("open", fg="yellow") if each["wide"] else click.style("ok  ", fg="green")
        click.echo(f"{mark}  {each['what']}: {each['who']}")
    if not report["live"]:
        click.echo(NO_HUB)
    if mended is not None:
        _tell_mended(home, mended)
    for each in report["findings"]:
        _tell_finding(home, each, mended)
    for check in report["checks"]:
        if check["failed"]:
            click.echo(f"\n{click.style('not looked at', fg='red')}: {check['looksAt']}; the log says why")
    _tell_end(home, report, mended)


def _tell_finding(home: Path | RemoteHome, each: Mapping[str, Any], mended: Mapping[str, Any] | None) -> None:
    place = each["location"] or {}
    click.echo(f"\n{click.style(each['severity'], fg=COLOURS[each['severity']])}: {each['what']}")
    if place.get("file"):
        line = f":{place['line']}" if place.get("line") else ""
        click.echo(f"  at    {place['file']}{line}  {place.get('path', '')}".rstrip())
    click.echo(f"  why   {each['why']}")
    click.echo(f"  do    {each['advice']}")
    if each["fix"] and mended is None:
        click.echo(f"  fix   {each['fix']}  (--fix --only {each['check']})")
    elif each["command"]:
        click.echo(f"  fix   {command_on(home, each['command'])}")


def _tell_mended(home: Path | RemoteHome, mended: Mapping[str, Any]) -> None:
    for each in mended["fixed"]:
        click.echo(f"\n{click.style('mended', fg='green')}: {each['what']}\n  {each['change']}")
    for each in mended["failed"]:
        click.echo(f"\n{click.style('not mended', fg='red')}: {each['what']}\n  {each['why']}")
    for version in mended["versions"]:
        back = command_on(home, f"homarus config history {version['file']} --restore {version['id']}")
        click.echo(f"\n{version['file']} as it was before: {back}")


def _tell_end(home: Path | RemoteHome, report: Mapping[str, Any], mended: Mapping[str, Any] | None) -> None:
    counts = {name: sum(each["severity"] == name for each in report["findings"]) for name in COLOURS}
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    click.echo(f"\n{told or 'Nothing is too open'}, in {len(report['checks'])} checks.")
    fixable = any(each["fix"] and each["severity"] != "note" for each in report["findings"])
    if fixable and mended is None:
        click.echo(f"What can be fixed is fixed by: {command_on(home, 'homarus doctor --security --fix')}")
