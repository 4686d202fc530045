from __future__ import annotations

import json
import string
from pathlib import Path

FOLDER = Path(__file__).parents[4] / "integrations" / "models" / "offline" / "replies"
ENGLISH_ALONE = {"tool_failed"}
"""It quotes an error, and errors are English."""


def places(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


def test_every_reply_is_there_in_both_languages_with_the_same_open_places() -> None:
    english, chinese = (json.loads((FOLDER / f"{name}.json").read_text("utf-8")) for name in ("en", "zh-CN"))

    assert set(english) - ENGLISH_ALONE == set(chinese)
    assert {key for key in chinese if places(english[key]) != places(chinese[key])} == set()
