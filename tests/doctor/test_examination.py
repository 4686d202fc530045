"""The doctor looks at everything, survives a check that fails, and changes nothing but permissions on request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from hub.cli.configured import check_home
from hub.core.errors import Unavailable
from hub.core.repairs import Severity
from hub.doctor.check_context import CheckContext
from hub.doctor.examination import FINDING_LIMIT, DoctorReport, examine, mend
from hub.doctor.finding import Check, Finding, critical, error, warning
from hub.doctor.permissions import PERMISSIONS
from hub.doctor.registry import CHECKS
from hub.sections import needed_domains
from hub.storage.homedir import Home
from tests.doctor.conftest import See, nobody


def state(home: Home) -> dict[str, tuple[int, str]]:
    """Mode and content of every file and directory of a home."""
    found = {}
    for path in [home.path, *sorted(home.path.rglob("*"))]:
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (path.stat().st_mode, content)
    return found


def check(name: str, *found: Finding) -> Check:
    return Check(name, name.title(), lambda _: found)


def test_a_fresh_home_is_healthy(see: See) -> None:
    report = examine(see(), CHECKS)

    assert report.findings == []
    assert report.healthy
    assert report.as_dict()["healthy"] is True


def test_looking_changes_nothing(home: Home, see: See) -> None:
    home.secrets.chmod(0o644)
    home.hub_token.write_text("changeme\n", encoding="utf-8")
    home.hub_token.chmod(0o644)
    home.hub_db.write_bytes(b"not a database")
    before = state(home)

    report = examine(see(), CHECKS)

    assert not report.healthy
    assert state(home) == before


def test_every_check_has_a_name_of_its_own() -> None:
    names = [each.name for each in CHECKS]

    assert len(set(names)) == len(names)
    assert all(each.title for each in CHECKS)


def test_without_a_home_it_says_how_to_make_one(tmp_path: Path) -> None:
    patient = CheckContext(Home(tmp_path / "none"), lambda: check_home(tmp_path / "none"), needed_domains, nobody)

    report = examine(patient, CHECKS)

    ((_, finding),) = report.findings
    assert finding.severity is Severity.CRITICAL
    assert "homarus init" in finding.command
    assert not (tmp_path / "none").exists()


def test_a_check_that_fails_is_a_finding_and_the_others_are_made(see: See) -> None:
    def falls(_: CheckContext) -> Iterator[Finding]:
        raise ZeroDivisionError("oh")

    def cannot(_: CheckContext) -> Iterator[Finding]:
        raise Unavailable("the moon is down")

    report = examine(see(), [Check("falls", "Falls", falls), Check("cannot", "Cannot", cannot), check("fine")])

    told = {looked.check.name: [finding.what for finding in looked.findings] for looked in report.looked}
    assert "ZeroDivisionError: oh" in told["falls"][0]
    assert "the moon is down" in told["cannot"][0]
    assert told["fine"] == []


def test_the_worst_comes_first(see: See) -> None:
    report = examine(see(), [check("one", warning("c"), critical("a")), check("two", error("b"))])

    assert [finding.what for _, finding in report.findings] == ["a", "b", "c"]


def test_what_is_found_without_end_is_counted(see: See) -> None:
    many = [warning(str(number)) for number in range(FINDING_LIMIT + 7)]

    report = examine(see(), [check("many", *many)])

    assert len(report.findings) == FINDING_LIMIT + 1
    assert "7 more" in report.findings[-1][1].what


def test_a_report_is_plain_data(see: See) -> None:
    report = DoctorReport(examine(see(), [check("one", error("x", "here", "mend it"))]).looked, (warning("was loose"),))

    told = json.loads(json.dumps(report.as_dict()))

    assert told["findings"] == [
        {"check": "one", "severity": "error", "what": "x", "where": "here", "command": "mend it", "fixable": False}
    ]
    assert told["checks"] == [{"name": "one", "title": "One", "ok": False}]
    assert told["fixed"][0]["what"] == "was loose"


def test_mending_sets_permissions_and_nothing_else(home: Home, see: See) -> None:
    home.secrets.chmod(0o644)
    home.path.chmod(0o755)
    content = home.secrets.read_bytes()

    mended = mend(examine(see(), [PERMISSIONS, check("other", error("stays"))]))

    assert len(mended) == 2
    assert home.secrets.stat().st_mode & 0o777 == 0o600
    assert home.path.stat().st_mode & 0o777 == 0o700
    assert home.secrets.read_bytes() == content
    assert examine(see(), [PERMISSIONS]).healthy
