"""`homarus doctor`: check everything a person can fix, whether or not the hub runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import CliCommand
from hub.cli.options import command_on, home_option, json_option, print_json
from hub.core.errors import HubError, Unavailable

if TYPE_CHECKING:
    from hub.doctor.check_context import CheckContext
    from hub.doctor.examination import DoctorReport


@click.command("doctor", cls=CliCommand)
@click.option("--fix", is_flag=True, help="Fix file permissions; with --security, all above a note that can be fixed.")
@click.option("--security", is_flag=True, help="Say instead who can reach what, and what is too open, the worst first.")
@click.option(
    "--deep", is_flag=True, help="With --security: try the hub's ports, and ask for known weaknesses of packages."
)
@click.option("--only", multiple=True, metavar="CHECK", help="With --security: these checks alone (again for each).")
@home_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    fix: bool,
    security: bool,
    deep: bool,
    only: tuple[str, ...],
    home: Path,
    as_json: bool,
) -> None:
    """Check the home, its configuration and the machine, and say how to fix problems. Exits 1 on findings.

    Example:
      homarus doctor
      homarus doctor --fix
      homarus doctor --security --deep
      homarus doctor --security --fix --only channels.open
    """
    if security:
        from hub.doctor.cli.security import look

        ctx.exit(look(home, deep=deep, fix=fix, only=only, as_json=as_json))
    if deep or only:
        raise CommandFailed("--deep and --only belong to --security", Exit.USAGE)
    from hub.doctor.examination import DoctorReport, examine, mend
    from hub.doctor.registry import checks_for

    context = _context(home)
    report = examine(context, checks_for(context))
    if fix:
        fixed, context = mend(report), _context(home)
        report = DoctorReport(examine(context, checks_for(context)).looked, tuple(fixed))
    if as_json:
        print_json(report.as_dict())
    else:
        _tell(home, report, fix=fix)
    ctx.exit(Exit.OK if report.healthy else Exit.FINDINGS)


def _context(home: Path) -> CheckContext:
    from hub.cli.configured import check_home
    from hub.doctor.check_context import CheckContext
    from hub.sections import needed_domains
    from hub.storage.homedir import Home

    def ask(method: str) -> Mapping[str, Any]:
        try:
            payload: Mapping[str, Any] = HubClient(home).call(method)
        except CommandFailed as failure:
            raise Unavailable(failure.message) from failure
        if not isinstance(payload, Mapping):
            raise HubError(f"expected a mapping from the hub's {method}; is it of another version? Restart it")
        return payload

    return CheckContext(Home(home), lambda: check_home(home), needed_domains, ask)


def _tell(home: Path, report: DoctorReport, *, fix: bool) -> None:
    for each in report.looked:
        mark = click.style("look", fg="yellow") if each.findings else click.style("ok  ", fg="green")
        click.echo(f"{mark}  {each.check.title}")
        for note in each.notes:
            click.echo(f"      {note}")
    for finding in report.fixed:
        click.echo(f"\nmended: {finding.where}")
    for _, finding in report.findings:
        colour = {"warning": "yellow"}.get(finding.severity.value, "red")
        click.echo(f"\n{click.style(finding.severity.value, fg=colour)}: {finding.what}")
        if finding.where:
            click.echo(f"  at    {finding.where}")
        if finding.command:
            click.echo(f"  fix  {finding.command}")
    if report.healthy:
        click.echo(f"\nNothing is wrong with {home}.")
    elif not fix and any(finding.mend for _, finding in report.findings):
        click.echo(f"\nPermissions are set right by: {command_on(home, 'homarus doctor --fix')}")
