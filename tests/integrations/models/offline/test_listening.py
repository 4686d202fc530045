"""Of what people say in either language, nearly all comes out right, and nothing is answered with another's fact."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.memory.notes_house import Notes
from tests.integrations.models.offline.listening import Listener, sentences

LEAST = 0.85


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_what_people_say_comes_out_right(tmp_path: Path, language: str) -> None:
    said = [each for each in sentences() if each.language == language]
    listener = Listener(Notes(tmp_path), [each for each in said if each.outcome == "seed"])
    asked = [each for each in said if each.outcome != "seed"]

    wrong = {each: why for each in asked if (why := listener.wrong(each, await listener.hear(each))) is not None}

    assert len(asked) >= 150
    assert [why for each, why in wrong.items() if each.outcome == "unknown"] == []
    assert len(wrong) <= (1 - LEAST) * len(asked), "\n".join(f"{each.outcome} {why}" for each, why in wrong.items())
