"""Of what people say in either language, nearly all comes out right, and nothing is answered with another's fact."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.memory.contract import MemoryKind
from tests.integrations.memory.notes_house import Notes
from tests.integrations.models.offline.listening import Listener, Sentence, sentences
from tests.lengths import some

LEAST = 0.85


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("name", "count"),
    [("listening.txt", 150), ("listening_second.txt", 150), ("listening_third.txt", 90), ("listening_fourth.txt", 50)],
)
async def test_what_people_say_comes_out_right(tmp_path: Path, language: str, name: str, count: int) -> None:
    said = [each for each in sentences(name) if each.language == language]
    listener = Listener(Notes(tmp_path), [each for each in said if each.outcome == "seed"])
    every = [each for each in said if each.outcome != "seed"]
    asked = some(every, one_of=3)

    wrong = {each: why for each in asked if (why := listener.wrong(each, await listener.hear(each))) is not None}

    assert len(every) >= count
    assert [why for each, why in wrong.items() if each.outcome == "unknown"] == []
    assert len(wrong) <= (1 - LEAST) * len(asked), "\n".join(f"{each.outcome} {why}" for each, why in wrong.items())


@pytest.mark.parametrize(
    ("said", "entries"),
    [
        (("note to self: the tenant is Paul",), {"the tenant is paul"}),
        (
            ("I put the passports in a drawer", "the passports are in the safe now"),
            {"the passports are in the safe now"},
        ),
        (("我把护照放在书房了", "护照我换地方了，现在在保险柜"), {"护照我换地方了，现在在保险柜"}),
        (("Tom owes me 45 bucks", "Tom paid me back"), {"tom paid me back"}),
        (("the weather is nice", "I think you are wrong", "今天天气不错"), set()),
        (("my dentist is Dr. Patel", "actually, the moon is made of cheese"), {"my dentist is dr. patel"}),
    ],
)
async def test_what_is_kept_is_what_holds(tmp_path: Path, said: tuple[str, ...], entries: set[str]) -> None:
    listener = Listener(Notes(tmp_path), [])

    for each in said:
        came = await listener.hear(Sentence("en", "", "", each), afresh=False)

    assert came.after == entries


@pytest.mark.parametrize("seed", [None, "the rent is 900 euros", "房租每月三千"])
@pytest.mark.parametrize(
    "said",
    ["I paid the rent", "paid", "we sold the boat", "done with it", "Tom paid back", "饭做好了", "房租交了", "洗完了"],
)
async def test_a_short_sentence_about_what_is_done_comes_to_an_end(tmp_path: Path, said: str, seed: str | None) -> None:
    notes = Notes(tmp_path)
    if seed is not None:
        await notes.put(seed, MemoryKind.FACT)

    came = await Listener(notes, []).hear(Sentence("en", "", "", said), afresh=False)

    assert came.reply
    assert came.before <= came.after


async def test_what_memory_says_of_a_short_sentence_is_told(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    await notes.put("Anna paid the rent in May", MemoryKind.FACT)

    came = await Listener(notes, []).hear(Sentence("en", "", "", "I paid the rent"), afresh=False)

    assert "anna paid the rent in may" in came.reply
