"""What many commands print alike."""

from __future__ import annotations

import pytest

from hub.cli.options import print_table


def test_columns_stand_below_each_other_whatever_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([("红烧肉.md", "a"), ("🍲", "b"), ("x", "c")], ("file", "who"))

    assert capsys.readouterr().out.splitlines() == ["file       who", "红烧肉.md  a", "🍲         b", "x          c"]


def test_a_name_does_nothing_to_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([("Phone\n9f3a approved \x1b[2J\u202e\u200b", "a")], ("name", "who"))

    assert capsys.readouterr().out.splitlines()[1:] == ["Phone\\n9f3a approved \\u001b[2J\\u202e\\u200b  a"]
