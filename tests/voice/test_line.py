"""When a satellite speaks: as soon as it can, and on where it was when what was taken for an interruption was none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.voice.contract import Stage
from hub.voice.echo import is_echo
from hub.voice.mouth import REWIND_S
from tests.servers.openai_server import OpenAIServer
from tests.until import until
from tests.voice.kit import API, LETTER_S, VoiceHome, silence, speech, voice_home

FIRST, SECOND, THIRD = "The first sentence is there.", "The second one follows it.", "And here is the last."


@pytest.fixture
async def home(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[VoiceHome]:
    async with voice_home(tmp_path, openai_server.base_url) as home:
        yield home


async def test_a_sentence_is_spoken_once_it_is_written_and_the_next_are_made_while_it_sounds(
    home: VoiceHome, openai_server: OpenAIServer
) -> None:
    openai_server.queue(
        [
            {"text": f"{FIRST} {SECOND[:5]}"},
            {"hold": "second"},
            {"text": f"{SECOND[5:]} {THIRD[:5]}"},
            {"hold": "third"},
            {"text": THIRD[5:]},
        ]
    )
    kitchen = home.kiosk()
    home.ears.hears = ["Talk"]

    kitchen.line.wake()
    kitchen.say()
    await until(lambda: kitchen.begun)  # on a clock that stands still
    openai_server.release("second")
    await until(lambda: len(home.ears.spoken) == 2)
    openai_server.release("third")
    await until(lambda: len(home.ears.spoken) == 3)

    assert [each[1] for each in home.ears.spoken] == [FIRST, SECOND, THIRD]
    assert (kitchen.begun, kitchen.played) == (1, [])
    turn = await home.turn()
    assert turn.answer == f"{FIRST}\n{SECOND}\n{THIRD}"
    assert len(kitchen.played) == 3


async def test_what_answers_is_ready_once_a_satellite_is_there_and_what_hears_and_speaks_when_it_wakes(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    models = {"default": "voice/auto", "providers": {"voice": {"api": API}}}
    async with voice_home(tmp_path, openai_server.base_url, models=models) as home:
        assert home.ears.prepared == []
        kitchen = home.kiosk(language="de")
        await until(lambda: home.ears.prepared == [("auto", "de", None)])

        kitchen.line.wake()

        await until(lambda: home.ears.prepared[1:] == [("auto", "de", None), ("auto", "de", "")])


# --- what may be an interruption ---

LONG = "one two three four five six seven eight nine ten eleven twelve"
LOUD = 20_000


def words_that_ended(home: VoiceHome) -> list[tuple[str, str]]:
    return [(each.text, each.outcome) for each in reversed(home.satellites.turns())]


@pytest.mark.parametrize("noise", ["silence", "a click", "a rustle"])
async def test_an_answer_goes_on_where_it_was_when_nothing_is_said_behind_the_wake_word(
    home: VoiceHome, openai_server: OpenAIServer, noise: str
) -> None:
    openai_server.queue(LONG, "Yes.")
    kitchen = home.kiosk()
    home.ears.hears = ["Count", "", "And now?"]
    kitchen.line.wake()
    kitchen.say()
    await home.passing(lambda: kitchen.begun)
    await home.clock.advance(2.0)

    kitchen.line.wake("okay_nabu")
    assert home.satellites.get("kitchen").stage is Stage.LISTENING  # type: ignore[union-attr]
    if noise == "a click":
        kitchen.line.feed(silence(0.2) + speech(0.08) + silence(1.0))
    elif noise == "a rustle":
        kitchen.say()
    await home.turn()
    assert home.satellites.get("kitchen").stage is Stage.RESPONDING  # type: ignore[union-attr]
    assert kitchen.played == []
    await until(lambda: kitchen.shown[-2:] == [(Stage.IDLE, ""), (Stage.RESPONDING, LONG)])
    await home.turn(2)

    outcome = "silence" if noise == "silence" else "noise"
    assert words_that_ended(home) == [("", outcome), ("Count", "answered")]
    assert kitchen.played == [pytest.approx(LETTER_S * len(LONG) - 2.0 + REWIND_S, abs=0.11)]
    if noise != "a rustle":
        home.ears.hears.pop(0)
    kitchen.line.wake()
    kitchen.say()
    await home.turn(3)
    assert "was heard" not in openai_server.requests()[-1]["body"]["messages"][0]["content"]


@pytest.mark.parametrize("is_first_there", [False, True])
async def test_an_answer_that_is_worked_out_comes_though_the_wake_word_was_heard_twice_in_vain(
    home: VoiceHome, openai_server: OpenAIServer, is_first_there: bool
) -> None:
    openai_server.queue([{"hold": "work"}, {"text": "Done at last."}])
    kitchen = home.kiosk()
    home.ears.hears = ["Work"]
    kitchen.line.wake()
    kitchen.say()
    await home.passing(openai_server.requests)

    kitchen.line.wake("okay_nabu")
    if is_first_there:
        openai_server.release("work")
        await home.passing(lambda: home.ears.spoken)
        assert kitchen.begun == 0  # somebody may speak
    kitchen.line.wake("okay_nabu")
    await home.turn(2)
    openai_server.release("work")
    await home.turn(3)

    assert words_that_ended(home) == [("", "interrupted"), ("", "silence"), ("Work", "answered")]
    assert kitchen.played == [round(LETTER_S * len("Done at last."), 2)]


@pytest.mark.parametrize("word", ["Stop.", "What else is there?"])
async def test_words_behind_the_wake_word_end_what_is_worked_out(
    home: VoiceHome, openai_server: OpenAIServer, word: str
) -> None:
    openai_server.queue([{"text": f"{LONG}. And "}, {"hold": "never"}], "Nothing.")
    kitchen = home.kiosk()
    home.ears.hears = ["Count", word]
    ended: list[str] = []
    home.bus.listen("run_finished", lambda event: ended.append(event.data["status"]))
    kitchen.line.wake()
    kitchen.say()
    await home.passing(lambda: kitchen.begun)

    kitchen.line.wake("okay_nabu")
    kitchen.say()
    await home.turn(2)

    assert words_that_ended(home) == [("Count", "interrupted"), (word, "answered")]
    await until(lambda: ended[:1] == ["aborted"])
    assert home.ears.spoken[1:] == ([] if word == "Stop." else [("auto", "Nothing.", "", "en")])


async def test_a_satellite_that_hears_itself_goes_on_and_only_what_is_louder_is_heard(
    home: VoiceHome, openai_server: OpenAIServer
) -> None:
    openai_server.queue(LONG, "Yes.")
    kitchen = home.kiosk(wakes_itself=False, always_sends=True)
    home.ears.hears = ["Count", "two three for five", "That is enough for now"]
    kitchen.line.wake()
    kitchen.say()
    await home.passing(lambda: kitchen.begun == 2)  # the chime, and the answer

    kitchen.say(loudness=2_000)
    await home.turn()
    kitchen.say(loudness=3_000)
    assert home.satellites.get("kitchen").stage is Stage.RESPONDING  # type: ignore[union-attr]
    kitchen.say(loudness=LOUD)
    await home.turn(3)

    assert words_that_ended(home) == [
        ("", "noise"),
        ("Count", "interrupted"),
        ("That is enough for now", "answered"),
    ]


@pytest.mark.parametrize(
    ("heard", "said", "echo"),
    [
        ("the weather tomorrow's sunny", "The weather tomorrow will be sunny, and warm.", True),
        ("what about the weather in Rome", "The weather tomorrow will be sunny, and warm.", False),
        ("明天会下雨", "明天上午会下雨，下午晴。", True),
        ("不要下雨了我要听音乐", "明天上午会下雨，下午晴。", False),
        ("", "Hello", False),
    ],
)
def test_an_echo_has_the_words_that_are_said(heard: str, said: str, echo: bool) -> None:
    assert is_echo(heard, said) is echo
