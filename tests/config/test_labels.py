"""Sections with labels, and single items, as Home Assistant lets them be written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from hub.config.check import check
from hub.config.checked import Checked
from hub.config.edit import EditRefused
from hub.config.locate import locate
from hub.sections import all_sections

BELL = "triggers: {trigger: event, event_type: bell}\n"


def read(home: Path, files: Mapping[str, str]) -> Checked:
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")
    return check(home, all_sections())


def automation(alias: str, indent: str = "  ", dash: str = "- ") -> str:
    gap = " " * len(dash)
    return f"{indent}{dash}alias: {alias}\n{indent}{gap}{BELL}{indent}{gap}actions: [delay: 1]\n"


def aliases(checked: Checked) -> list[str]:
    return [each["alias"] for each in checked.config["automation"]]


def test_labelled_blocks_stand_beside_the_section(tmp_path: Path) -> None:
    files = {
        "configuration.yaml": "automation manual:\n"
        + automation("second")
        + "automation: !include automations.yaml\nautomation kitchen lights:\n"
        + automation("third"),
        "automations.yaml": automation("first", ""),
    }

    checked = read(tmp_path, files)

    assert checked.errors == []
    assert aliases(checked) == ["first", "second", "third"]


@pytest.mark.parametrize("key", ["automation", "automation 2"])
def test_one_automation_needs_no_dash(tmp_path: Path, key: str) -> None:
    checked = read(tmp_path, {"configuration.yaml": f"{key}:\n" + automation("alone", dash="")})

    assert checked.errors == []
    assert aliases(checked) == ["alone"]


def test_several_without_a_dash_are_several(tmp_path: Path) -> None:
    text = "".join(f"automation {name}:\n" + automation(name, dash="") for name in ("one", "two", "three"))

    assert aliases(read(tmp_path, {"configuration.yaml": text})) == ["one", "two", "three"]


def test_packages_may_have_labels_and_single_items(tmp_path: Path) -> None:
    files = {
        "configuration.yaml": "hub:\n  packages: !include_dir_named p\nautomation:\n" + automation("root", dash=""),
        "p/one.yaml": "automation a:\n" + automation("a", dash="") + "automation b:\n" + automation("b"),
        "p/two.yaml": "automation:\n" + automation("c", dash=""),
    }

    assert aliases(read(tmp_path, files)) == ["root", "a", "b", "c"]


def test_scripts_with_labels_are_merged_by_their_names(tmp_path: Path) -> None:
    text = "script one:\n  a: {sequence: [delay: 1]}\nscript two:\n  b: {sequence: [delay: 1]}\n"

    checked = read(tmp_path, {"configuration.yaml": text})

    assert sorted(checked.config["script"]) == ["a", "b"]


def test_a_script_that_is_written_twice_is_told_where_it_stands_again(tmp_path: Path) -> None:
    text = "script one:\n  a: {icon: x, sequence: [delay: 1]}\nscript two:\n  a: {icon: y, sequence: []}\n"

    [error, *_] = read(tmp_path, {"configuration.yaml": text}).errors

    assert (error.line, error.path) == (4, '["script two"].a.icon')
    assert "line 2 already" in error.message


def test_an_error_in_a_labelled_block_has_its_line(tmp_path: Path) -> None:
    text = "automation manual:\n" + automation("fine") + automation("bad").replace("trigger: event", "trigger: evnt")

    [error] = read(tmp_path, {"configuration.yaml": text}).errors

    assert (error.file, error.line, error.path) == ("configuration.yaml", 6, "automation[1].triggers.trigger")
    assert "did you mean event?" in error.message + error.hint


def test_a_label_makes_no_section_of_a_word_that_is_none(tmp_path: Path) -> None:
    [error] = read(tmp_path, {"configuration.yaml": "automtion manual: []\n"}).errors

    assert (error.line, error.column) == (1, 1)
    assert error.message == "there is no integration or section automtion"
    assert error.hint == "did you mean automation?"


def test_what_stands_in_a_labelled_block_can_be_edited_there(tmp_path: Path) -> None:
    text = "automation manual:\n" + automation("first") + automation("second")
    checked = read(tmp_path, {"configuration.yaml": text})

    place = locate(checked.config.raw, ("automation", 1, "alias"), lambda name: text)

    assert place == ("configuration.yaml", ("automation manual", 1, "alias"))


def test_nothing_is_added_to_an_automation_that_stands_alone(tmp_path: Path) -> None:
    text = "automation:\n" + automation("alone", dash="")
    checked = read(tmp_path, {"configuration.yaml": text})

    with pytest.raises(EditRefused, match="put a dash before it"):
        locate(checked.config.raw, ("automation", 9), lambda name: text)
