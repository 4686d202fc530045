"""Every check of the audit, over a home that triggers it and over one that clears it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hub.cli.configured import editor_of
from hub.doctor.audit.audit import AuditReport, audit
from hub.doctor.audit.mending import mend
from hub.doctor.audit.registry import CHECKS, MODULE
from hub.doctor.audit.weakness import AuditCheck, AuditSeverity
from hub.integration.catalog import find
from hub.integration.schemas import read_module
from tests.doctor.audit.homes import CASES, Case, Closed, Open, listener, make_home, mqtt_broker, see, serving


def registry() -> Iterator[AuditCheck]:
    """All checks: the hub's own, and those of all integrations that come with it."""
    yield from CHECKS
    for domain, found in sorted(find(None).items()):
        if (found.path / MODULE).is_file():
            yield from read_module(domain, found.path / MODULE).AUDIT


ALL = {each.id: each for each in registry()}
ACCEPTED, REFUSED = bytes.fromhex("20020000"), bytes.fromhex("20020005")


def test_each_check_has_its_homes_and_an_id_of_its_own() -> None:
    assert ALL.keys() == CASES.keys()
    assert len(list(registry())) == len(ALL)


@pytest.mark.parametrize("id", CASES)
def test_a_home_that_is_open_triggers_it_and_one_that_is_closed_clears_it(id: str, tmp_path: Path) -> None:
    check, case = ALL[id], CASES[id]

    opened = looked(check, case, tmp_path, is_open=True)
    closed = looked(check, case, tmp_path, is_open=False)

    assert not opened.failed
    assert not closed.failed
    assert opened.found, "the home that is open is not found"
    assert opened.found[0].severity is check.severity
    assert closed.found == ()
    for each in opened.found:
        assert each.location is not None
        assert not str(each.spot.what).endswith(".")
        if each.spot.keys:
            assert each.location["line"] >= 1
            assert each.location["file"].endswith(".yaml")


def looked(check: AuditCheck, case: Case, tmp_path: Path, *, is_open: bool) -> AuditReport:
    name = ("Dropbox" if is_open else "files") if check.id == "files.synced" else ("open" if is_open else "closed")
    folder = make_home(case, tmp_path / name / "home", is_open=is_open)
    with ExitStack() as stack:
        live = case.live(is_open) if case.live is not None else None
        if check.id.startswith("tried."):
            port = stack.enter_context(serving(Open if is_open else Closed))
            live = {"listeners": (listener(check.id, port),)}
        if check.id == "mqtt.anonymous":
            port = stack.enter_context(mqtt_broker(ACCEPTED if is_open else REFUSED))
            text = folder / "configuration.yaml"
            text.write_text(text.read_text(encoding="utf-8").replace("PORT", str(port)), encoding="utf-8")
        return audit(see(folder, live), [check], deep=True)


@pytest.mark.parametrize("id", [id for id, case in CASES.items() if case.live is None and not ALL[id].deep])
def test_what_it_mends_is_gone_and_nothing_else_is_changed(id: str, tmp_path: Path) -> None:
    check, case = ALL[id], CASES[id]
    folder = make_home(case, tmp_path / "home", is_open=True)
    text = folder / "configuration.yaml"
    before = text.read_text(encoding="utf-8")
    found = audit(see(folder), [check]).found
    fixable = [each for each in found if each.fix is not None]

    mended = mend(found, editor_of(folder))

    assert [each.id for each, _ in mended.failed] == []
    assert {each.id for each in mended.fixed} == {each.id for each in fixable}
    left = {each.id for each in audit(see(folder), [check]).found}
    assert not left & {each.id for each in fixable}
    named = {str(keys[0]) for each in fixable for keys in (*each.spot.edits, each.spot.keys) if keys}
    after = text.read_text(encoding="utf-8")
    assert [line for line in lines(before, named) if line not in after] == []
    assert bool(mended.versions) is (after != before)


def lines(text: str, sections: set[str]) -> list[str]:
    """The lines of all other sections."""
    kept, name = [], ""
    for line in text.splitlines():
        name = line.partition(":")[0] if line[:1].strip() else name
        if name not in sections:
            kept.append(line)
    return kept


@pytest.mark.parametrize("check", ALL.values(), ids=ALL)
def test_each_says_what_it_looks_at_why_and_what_to_do(check: AuditCheck) -> None:
    assert check.why.endswith(".")
    assert check.advice.endswith(".")
    assert not check.looks_at.endswith(".")
    assert check.severity in AuditSeverity
