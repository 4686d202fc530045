"""Whole homes: a fresh one, one with many openings, and what mending leaves of it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from hub.cli.configured import editor_of
from hub.config.seed import seed
from hub.core.errors import HubError
from hub.doctor.audit.audit import AuditReport, audit
from hub.doctor.audit.audit_context import AuditContext
from hub.doctor.audit.mending import choose, mend
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity, Spot
from hub.storage.homedir import Home
from tests.doctor.audit.homes import SECRETS, see

LOOSE = """\
# Our home, as it came to be.
hub: {name: Loose}   # nobody else's
people:
  - {id: me, name: Me, owner: true, identities: ["telegram:user:1"]}
  - {id: anna, name: Anna, identities: ["telegram:user:2"]}
http:
  host: 0.0.0.0   # for the tablets
  port: 0
  auth: {mode: password, password: a rather long passphrase}
session: {dm_scope: main}
exec:
  mode: full      # it is quicker
  trust_output: true
tools: {strangers: full}
network:
  allow_private:
    - printer.lan:631    # the printer
    - 192.168.1.1:80     # the router
telegram:
  - account: default
    token: !secret telegram
    dm_policy: open
    allow_from: ["*"]
    group_policy: open
automation: !include automations.yaml
"""
AUTOMATIONS = """\
- id: gate
  alias: Open the gate
  triggers: [{trigger: message, text: open}]   # when I come home
  actions: [{action: lock.unlock, target: {entity_id: lock.gate}}]
"""
OPENINGS = {
    "http.clear@http.host": "critical",
    "channels.strangers@tools.strangers": "critical",
    "channels.shared@session.dm_scope": "critical",
    "channels.set_off@automation[0].triggers[0]": "critical",
    "commands.full@exec.mode": "critical",
    "files.secrets@secrets.yaml": "critical",
    "channels.open@telegram[0].dm_policy": "warning",
    "channels.open_groups@telegram[0].group_policy": "warning",
    "commands.trusted_output@exec.trust_output": "warning",
    "network.private@network.allow_private[1]": "warning",
    "secrets.written_out@http.auth.password": "warning",
}
MENDED = """\
# Our home, as it came to be.
hub: {name: Loose}   # nobody else's
people:
  - {id: me, name: Me, owner: true, identities: ["telegram:user:1"]}
  - {id: anna, name: Anna, identities: ["telegram:user:2"]}
http:
  host: 0.0.0.0   # for the tablets
  port: 0
  auth: {mode: password, password: !secret http_auth_password}
session: {dm_scope: auto}
exec:
  mode: ask      # it is quicker
  trust_output: false
tools: {strangers: minimal}
network:
  allow_private:
    - printer.lan:631    # the printer
telegram:
  - account: default
    token: !secret telegram
    dm_policy: pairing
    group_policy: allowlist
automation: !include automations.yaml
"""


@pytest.fixture
def loose(tmp_path: Path) -> Path:
    home = Home(tmp_path / "home")
    home.create()
    home.path.chmod(0o700)
    for name, text in (("configuration.yaml", LOOSE), ("automations.yaml", AUTOMATIONS), ("secrets.yaml", SECRETS)):
        (home.path / name).write_text(text, encoding="utf-8")
        (home.path / name).chmod(0o600)
    home.secrets.chmod(0o644)
    return home.path


def above_notes(report: AuditReport) -> dict[str, str]:
    return {each.id: each.severity.value for each in report.found if each.severity is not AuditSeverity.NOTE}


def test_a_fresh_home_has_nothing_above_a_note(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    seed(home.path, zone="Europe/Berlin")

    report = audit(see(home.path))

    assert report.sound
    assert above_notes(report) == {}
    assert report.failed == ()


def test_a_home_with_many_openings_is_named_whole_the_worst_first(loose: Path) -> None:
    report = audit(see(loose))

    assert above_notes(report) == OPENINGS
    assert [each.severity for each in report.found] == sorted(
        (each.severity for each in report.found), key=list(AuditSeverity).index
    )
    assert not report.sound


def test_it_says_who_can_reach_what(loose: Path) -> None:
    told = {each.what: (each.who, each.wide) for each in audit(see(loose)).reach}

    assert told == {
        "Dashboard and API (0.0.0.0:0)": ("everybody on the network, with the password or a token", True),
        "telegram (default), direct messages": ("everybody", True),
        "telegram (default) in groups": ("every group that somebody adds it to", True),
        "What strangers may use": ("the tools of the profile full", True),
    }


def test_the_place_of_a_finding_is_its_file_and_line(loose: Path) -> None:
    places = {each.id: each.location for each in audit(see(loose)).found}

    assert places["commands.full@exec.mode"] == {
        "file": "configuration.yaml",
        "line": 12,
        "column": 9,
        "path": "exec.mode",
    }
    gate = places["channels.set_off@automation[0].triggers[0]"]
    assert gate is not None
    assert (gate["file"], gate["line"]) == ("automations.yaml", 3)


def test_mending_changes_what_the_findings_name_and_no_other_byte(loose: Path) -> None:
    report = audit(see(loose))

    mended = mend(choose(report.found, frozenset()), editor_of(loose))

    assert mended.failed == ()
    assert (loose / "configuration.yaml").read_text(encoding="utf-8") == MENDED
    changed = "text: open, from_owner: true}]   # when I come home"
    assert (loose / "automations.yaml").read_text(encoding="utf-8") == AUTOMATIONS.replace(
        "text: open}]   # when I come home", changed
    )
    assert (loose / "secrets.yaml").read_text(encoding="utf-8") == (
        f"{SECRETS}http_auth_password: a rather long passphrase\n"
    )
    assert stat.S_IMODE((loose / "secrets.yaml").stat().st_mode) == 0o600
    left = audit(see(loose))
    assert above_notes(left) == {"http.clear@http.host": "critical"}


def test_the_files_are_kept_before_they_are_changed(loose: Path) -> None:
    editor = editor_of(loose)

    mended = mend(choose(audit(see(loose)).found, frozenset()), editor)

    kept = {each.file: editor.history.read(each.file, each.id).decode() for each in mended.versions}
    assert kept == {"configuration.yaml": LOOSE, "automations.yaml": AUTOMATIONS}


def test_only_what_is_named_is_mended(loose: Path) -> None:
    found = audit(see(loose)).found

    mend(choose(found, frozenset({"commands.full", "channels.shared@session.dm_scope"})), editor_of(loose))

    expected = LOOSE.replace("mode: full ", "mode: ask ").replace("dm_scope: main", "dm_scope: auto")
    assert (loose / "configuration.yaml").read_text(encoding="utf-8") == expected


def test_what_cannot_be_mended_says_why_and_the_rest_is(loose: Path) -> None:
    text = LOOSE.replace("tools: {strangers: full}", "x-base: &base {strangers: full}\ntools: *base")
    (loose / "configuration.yaml").write_text(text.replace("x-base", "tools_base"), encoding="utf-8")
    found = audit(see(loose)).found
    if not any(each.check.id == "channels.strangers" for each in found):
        pytest.fail("the alias is not seen")

    mended = mend(choose(found, frozenset({"channels.strangers", "commands.full"})), editor_of(loose))

    assert [each.check.id for each, _ in mended.failed] == ["channels.strangers"]
    assert "by hand" in mended.failed[0][1]
    assert [each.check.id for each in mended.fixed] == ["commands.full"]


def test_a_secret_is_moved_under_a_name_that_is_free(loose: Path) -> None:
    with (loose / "secrets.yaml").open("a", encoding="utf-8") as file:
        file.write("http_auth_password: another one of that name\n")

    mend(choose(audit(see(loose)).found, frozenset({"secrets.written_out"})), editor_of(loose))

    text = (loose / "configuration.yaml").read_text(encoding="utf-8")
    assert "password: !secret http_auth_password_2}" in text


def test_a_check_that_fails_hides_no_other(loose: Path) -> None:
    def breaks(_: AuditContext) -> list[Spot]:
        raise ZeroDivisionError

    def refuses(_: AuditContext) -> list[Spot]:
        raise HubError("not now")

    real = next(each.check for each in audit(see(loose)).found if each.check.id == "commands.full")
    broken, refused = (
        AuditCheck(name, real.severity, real.looks_at, real.why, real.advice, look)
        for name, look in (("test.broken", breaks), ("test.refused", refuses))
    )

    report = audit(see(loose), [broken, refused, real])

    assert report.failed == ("test.broken", "test.refused")
    assert [each.check.id for each in report.found] == ["commands.full"]
    assert not report.sound


def test_members_of_a_group_that_is_listed_are_a_warning_and_not_more(loose: Path) -> None:
    text = LOOSE.replace("    dm_policy: open\n", "").replace('    allow_from: ["*"]\n', "")
    text = text.replace("    group_policy: open\n", '    groups: ["-100123"]\n')
    (loose / "configuration.yaml").write_text(text, encoding="utf-8")

    found = above_notes(audit(see(loose)))

    assert found["channels.strangers@tools.strangers"] == "warning"
    assert found["channels.set_off@automation[0].triggers[0]"] == "warning"
