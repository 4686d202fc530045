"""`script/test` finds the tests of what it is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mirror import CHECKOUT, PROGRAM, mirror_of


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("hub/skills", ["tests/skills"]),
        ("hub/skills/", ["tests/skills"]),
        (f"{CHECKOUT}/hub/skills", ["tests/skills"]),
        ("hub/core/__init__.py", ["tests/core"]),
        ("hub/skills/registry.py", ["tests/skills/test_registry.py"]),
        ("hub/skills/cli", ["tests/cli/test_skills.py"]),
        ("hub/automation/schedule/cron.py", ["tests/automation/schedule/test_cron.py"]),
        ("integrations/channels/telegram", ["tests/integrations/channels/telegram"]),
        ("integrations/tools/calculator", ["tests/integrations/tools/test_calculator.py"]),
        ("web/chat", ["tests/web/chat"]),
        ("node", ["tests/node_program"]),
        ("hub/hub.py", ["tests/test_hub.py"]),
        ("tests/skills", ["tests/skills"]),
        ("-x", ["-x"]),
        ("hub/no/such/place.py", ["hub/no/such/place.py"]),
    ],
)
def test_a_path_has_the_tests_that_mirror_it(path: str, found: list[str]) -> None:
    assert mirror_of(path) == found


def write(checkout: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "imports",
    [
        "from hub.skills.gates import Gate\n",
        "from hub.skills import gates\n",
        "from hub.skills import (\n    files,\n    gates,\n)\n",
        "def test() -> None:\n    import hub.skills.gates\n",
    ],
)
def test_what_has_no_mirror_is_tried_by_what_imports_it_nearest(tmp_path: Path, imports: str) -> None:
    near, far = "tests/skills/test_who_is_let_in.py", "tests/test_far.py"
    write(tmp_path, {"hub/skills/gates.py": "", near: imports, far: imports, "tests/skills/test_gate.py": "# gates\n"})

    found = mirror_of("hub/skills/gates.py", tmp_path)
    (tmp_path / near).unlink()

    assert found == [near]
    assert mirror_of("hub/skills/gates.py", tmp_path) == [far]


def test_what_nothing_imports_is_tried_by_the_nearest_mirror(tmp_path: Path) -> None:
    files = ("hub/skills/component.py", "hub/lifecycle.py", "tests/skills/test_gate.py", "tests/test_hub.py")
    write(tmp_path, dict.fromkeys(files, ""))

    assert mirror_of("hub/skills/component.py", tmp_path) == ["tests/skills"]
    assert mirror_of("hub/lifecycle.py", tmp_path) == ["tests/test_hub.py"]


def test_every_module_has_tests_that_are_there() -> None:
    modules = [path for top in PROGRAM for path in sorted((CHECKOUT / top).rglob("*.py"))[::40]]
    found = {path: mirror_of(str(path)) for path in modules}

    assert [path for path, tests in found.items() if not all((CHECKOUT / each).exists() for each in tests)] == []
    assert [path for path, tests in found.items() if tests == ["tests"]] == []
