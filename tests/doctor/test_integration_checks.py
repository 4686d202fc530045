"""The doctor makes the checks of the integrations in use, whether or not a hub runs."""

from __future__ import annotations

from pathlib import Path

from hub.doctor.examination import examine
from hub.doctor.registry import CHECKS, checks_for
from hub.storage.homedir import Home
from tests.doctor.conftest import See
from tests.e2e.homes import add_integration

EMPTY = "async def setup(host, config): ...\n"
DRY = """
from hub.doctor.finding import Check, warning


def look(context):
    yield warning("The soil is dry.", str(context.home.path), context.command("status"))


CHECKS = {"soil": Check("soil", "Soil of the greenhouse", look)}
"""


def garden(home: Home, doctor: str, *, default: bool = True) -> Path:
    folder = add_integration(home.path, "garden", EMPTY, default=default, doctor=["soil"])
    (folder / "doctor.py").write_text(doctor)
    return folder


def found(see: See) -> list[tuple[str, str]]:
    context = see()
    return [(check.name, finding.what) for check, finding in examine(context, checks_for(context)).findings]


def test_the_checks_of_an_integration_come_after_the_hubs_own(home: Home, see: See) -> None:
    garden(home, DRY)

    checks = checks_for(see())

    assert checks[: len(CHECKS)] == CHECKS
    assert [(each.name, each.title) for each in checks[len(CHECKS) :]] == [("garden.soil", "Soil of the greenhouse")]
    assert found(see) == [("garden.soil", "The soil is dry.")]


def test_an_integration_that_is_not_in_use_is_not_asked(home: Home, see: See) -> None:
    garden(home, DRY, default=False)

    assert checks_for(see()) == CHECKS


def test_checks_that_cannot_be_loaded_are_a_finding(home: Home, see: See) -> None:
    folder = garden(home, "import this is not Python\n")
    broken = found(see)

    (folder / "doctor.py").write_text("CHECKS = {}\n")

    assert [name for name, _ in broken] == ["custom", "garden"]
    assert "garden/doctor.py line 1" in broken[1][1]
    assert found(see) == [
        ("garden", "The integration's checks cannot be loaded: garden/doctor.py has no soil in CHECKS.")
    ]


def test_there_are_only_the_hubs_own_checks_without_a_home(home: Home, see: See) -> None:
    home.path.rename(home.path.with_name("moved"))

    assert checks_for(see()) == CHECKS
