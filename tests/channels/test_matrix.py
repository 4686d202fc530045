"""The capability matrix in the documentation says what the channels do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hub.core.clock import Clock
from tests.channels.kit import Rig
from tests.channels.matrix import COLUMNS, PAGE, Column, renewed, row_of
from tests.channels.registry import RIGS, rigs_that
from tests.docs.pages import MARK

ROW = re.compile(r"^\| \[.*", re.M)


def written() -> list[str]:
    return list(ROW.findall(PAGE.read_text(encoding="utf-8").partition(MARK)[2]))


@rigs_that()
async def test_the_row_of_a_channel_is_as_it_does(rig: Rig, tmp_path: Path) -> None:
    assert row_of(rig.channel(tmp_path, Clock()), rig) in written(), "run script/docs"


def test_the_page_has_these_rows_and_no_others() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert text == renewed(text, written()), "run script/docs"
    assert len(written()) == len(RIGS)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.title)
def test_each_column_is_tried_by_a_test_of_the_kit(column: Column) -> None:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))

    assert f"async def {column.test}(" in tests
