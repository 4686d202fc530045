"""What many commands print alike."""

from __future__ import annotations

import pytest

from hub.cli.options import print_table


def test_columns_stand_below_each_other_whatever_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([("红烧肉.md", "a"), ("🍲", "b"), ("x", "c")], ("file", "who"))

    assert capsys.readouterr().out.splitlines() == ["file       who", "红烧肉.md  a", "🍲         b", "x          c"]
