"""What a SKILL.md says: read in every make that is about, and refused with the field that is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.skills.gates import SkillEntry, missing, missing_text
from hub.skills.skill_file import SkillInvalid, body_of, read_skill
from tests.skills.makes import FACTS, MAKES, Make


@pytest.mark.parametrize("make", [each for each in MAKES if each.lacks is not None], ids=lambda make: make.folder)
def test_a_skill_of_any_make_is_read_with_what_it_lacks(make: Make) -> None:
    file = read_skill(make.text, make.folder)

    lacking = missing(file, SkillEntry(), FACTS)

    assert file.name == make.name
    assert ("" if lacking is None else missing_text(lacking)) == make.lacks
    assert make.noted in " ".join(file.notes)
    assert bool(make.noted) is bool(file.notes)
    assert file.description
    assert "\n" not in file.description
    assert body_of(make.text).startswith("# Title")


def test_the_further_fields_are_read() -> None:
    files = {make.name: read_skill(make.text, make.folder) for make in MAKES if make.lacks is not None}

    assert files["pdf-tools"].license.startswith("Proprietary")
    assert files["pdf-tools"].compatibility == "Needs Python 3.11"
    assert files["pdf-tools"].allowed_tools == ("Read", "Write", "Bash(git:*)")
    assert files["folded"].allowed_tools == ("Read", "Grep")
    assert files["folded"].description == "One thing on two lines."
    assert files["extract"].tool == "extract_text"
    assert not files["code-reviewer"].model_invocable
    assert not files["colon"].user_invocable
    assert files["wttr"].emoji == "🌤️"
    assert files["keyed"].primary_env == "KEYED_API_KEY"
    assert [each["kind"] for each in files["sonos"].installs] == ["go"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# No front matter", "does not begin with front matter"),
        ("---\nname: x\ndescription: never closed\n", "does not begin with front matter"),
        ("---\nname: x\n---\n", "description"),
        ("---\n- a\n- list\n---\n", "no fields"),
        ("---\nname: x\ndescription: d\ncommand-dispatch: tool\n---\n", "command-tool"),
        ("---\nname: x\ndescription: d\ncommand-dispatch: tool\ncommand-tool: ../x\n---\n", "command-tool"),
        ("---\nname: x\ndescription: d\ncommand-arg-mode: shell\n---\n", "expected raw"),
        (f"---\nname: x\ndescription: {'d' * 40_000}\n---\n", "longer than"),
    ],
)
def test_what_cannot_be_used_names_the_field(text: str, told: str) -> None:
    with pytest.raises(SkillInvalid, match=told):
        read_skill(text, "x")


def test_aliases_in_front_matter_do_not_grow_without_bound() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
        for before, name in zip("abcdefg", "bcdefgh", strict=True)
    )

    file = read_skill(f"---\nname: bomb\ndescription: boom\n{bomb}---\n", "bomb")

    assert file.notes == ("the front matter is not valid YAML; its fields were read line by line",)


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_is_read_or_refused(front: str, body: str) -> None:
    try:
        file = read_skill(f"---\ndescription: d\n{front}\n---\n{body}", "folder")
    except SkillInvalid:
        return

    assert file.name
    assert file.description
