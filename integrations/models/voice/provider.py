"""The engines of this machine as a provider of models: it hears and speaks, and does not chat."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import InvalidRequest, NotFound, Unavailable
from hub.core.executors import FILES
from hub.core.tasks import TaskOwner
from hub.memory.traditional import simplified
from hub.models.contract import AUTO, ModelEvent, ModelInfo, ModelRequest
from hub.models.speech import SpeechModel, SpeechRequest
from hub.models.transcription import SpeechPiece, TellWords
from hub.voice.contract import Sound
from hub.voice.sound import as_wav
from integrations.models.voice.catalogue import ESPEAK, Engine
from integrations.models.voice.engine_process import WORKER, EngineProcess
from integrations.models.voice.installed import Model, VoiceFolder
from integrations.models.voice.listening import PartHeard, WordsSoFar

LONG_BYTES = 500_000
"""Half a minute of a voice message, and more: then silence in it is left out before it is listened to."""
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_TRADITIONAL = re.compile(r"[-_](hant|tw|hk|mo)\b", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]")
HAN_SHARE = 0.3


class VoiceSettings(Struct, frozen=True):
    """The section `voice:`.

    Attributes:
        language: The language of the home, where nobody says another.
        command: How an engine is started, before its kind, the folder of its model, and the number of threads; None is
            the Python of the installed engines.
    """

    stt: str = AUTO
    tts: str = AUTO
    threads: int = 2
    idle_s: float = 600.0
    timeout_s: float = 60.0
    language: str = "en"
    command: Sequence[str] | None = None

    @classmethod
    def from_config(cls, config: Mapping[str, Any], language: str) -> VoiceSettings:
        """Return the settings of a checked section."""
        idle_s = 60.0 * config["idle_minutes"]
        return cls(config["stt"], config["tts"], config["threads"], idle_s, float(config["timeout_s"]), language)


class VoiceProvider:
    """Hears by Whisper, speaks by Piper or espeak-ng.

    Args:
        name: The name of the provider.
        folder: What is installed.
    """

    def __init__(self, name: str, folder: VoiceFolder, settings: VoiceSettings, clock: Clock) -> None:
        self.name = name
        self._folder = folder
        self._settings = settings
        self._clock = clock
        self._tasks = TaskOwner("voice")
        self._engines: dict[tuple[str, str], EngineProcess] = {}

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Refuse: it does not chat."""
        raise InvalidRequest(f"{self.name}/{request.model} hears and speaks; it does not chat. Name another model.")

    async def models(self) -> list[ModelInfo]:
        """Return what is installed."""
        installed = await FILES.run(self._folder.models)
        return [self.known(name) for name in (AUTO, ESPEAK, *(each.name for each in installed))]

    async def speech_models(self) -> list[SpeechModel]:
        """See `CanListSpeech.speech_models`."""
        installed = await FILES.run(self._folder.models)
        if installed:
            self._command("")
        settings = self._settings
        ear = choose_ear(settings.stt, None, installed)
        voices = [each for each in installed if each.engine is Engine.PIPER]
        mouth = choose_voice(settings.tts, base_language(settings.language) or "en", voices)
        found = [
            SpeechModel(
                each.name,
                each.engine is Engine.WHISPER,
                each.engine is Engine.PIPER,
                each.languages,
                each in (ear, mouth),
            )
            for each in installed
        ]
        if shutil.which(ESPEAK) is not None:
            found.append(SpeechModel(ESPEAK, speaks=True, is_usual=mouth is None))
        return found

    def known(self, model_id: str) -> ModelInfo:
        """Return what is known of a model: it costs nothing."""
        return ModelInfo(model_id, self.name, input_usd=0.0, output_usd=0.0, tools=False)

    async def transcribe(self, model: str, data: bytes, name: str, language: str | None = None) -> str:
        """See `CanTranscribe.transcribe`."""
        wanted, chosen = await self._ear(model, language)
        if chosen is None and wanted == AUTO:
            raise NotFound("nothing is installed that hears: `homarus voice install whisper-base`")
        if chosen is None:
            raise NotFound(f"{wanted} is not installed: `homarus voice install {wanted}`")
        head = {"language": base_language(language), "long": len(data) > LONG_BYTES}
        found, _ = await self._engine(Engine.WHISPER, chosen).ask(head, data)
        text = str(found.get("text", "")).strip()
        return as_written_here(text, str(found.get("language")), language, self._settings.language)

    async def listen(
        self,
        model: str,
        pieces: AsyncIterator[SpeechPiece],
        language: str | None,
        tell: TellWords,
        *,
        may_work: bool = True,
    ) -> str:
        """See `CanListen.listen`: the words so far are made while the engine has nothing else to do."""

        async def hear(part: bytes) -> PartHeard | None:
            return await self._part_of(model, language, part)

        said = bytearray()
        words = WordsSoFar(hear, self._clock, self._tasks, tell)
        try:
            async for each in pieces:
                said += each.samples
                if may_work and not each.is_quiet:
                    words.take(said)
        finally:
            words.close()
        return await self.transcribe(model, as_wav(Sound(bytes(said))), "speech.wav", language)

    async def _part_of(self, model: str, language: str | None, samples: bytes) -> PartHeard | None:
        _, chosen = await self._ear(model, language)
        if chosen is None or (engine := self._engine(Engine.WHISPER, chosen)).waiting:
            return None
        found, _ = await engine.ask({"language": base_language(language), "is_part": True}, samples)
        text = as_written_here(str(found["text"]), str(found["language"]), language, self._settings.language)
        return PartHeard(text, float(found["took_s"]))

    async def speak(self, request: SpeechRequest) -> bytes:
        """See `CanSpeak.speak`; the model is `auto`, espeak-ng or a voice, and so may `voice` be."""
        language = spoken_language(request.text, request.language or self._settings.language)
        wanted, chosen, voices = await self._voice(request.model, request.voice, language)
        head = {"language": language, "form": request.form}
        if chosen is None and wanted not in (AUTO, ESPEAK):
            if ESPEAK not in (request.model, self._settings.tts):
                raise NotFound(
                    f"the voice {wanted} is not installed (`homarus voice install {wanted}`); there are "
                    f"{', '.join([ESPEAK, *(each.name for each in voices)])}"
                )
            head["voice"] = wanted
        if chosen is None and shutil.which(ESPEAK) is None:
            raise Unavailable(
                f"there is no voice for {language}: install the program {ESPEAK} (apt install {ESPEAK}), or a voice "
                "(`homarus voice list`)"
            )
        engine = self._engine("espeak", None) if chosen is None else self._engine(Engine.PIPER, chosen)
        _, sound = await engine.ask(head, request.text.encode())
        return sound

    async def prepare(self, model: str, language: str | None, voice: str | None = None) -> None:
        """See `CanPrepare.prepare`."""
        if voice is None:
            kind, (_, chosen) = str(Engine.WHISPER), await self._ear(model, language)
        else:
            spoken = base_language(language) or self._settings.language
            kind, (_, chosen, _) = str(Engine.PIPER), await self._voice(model, voice, spoken)
        if chosen is not None and (self._settings.command or self._folder.has_engines):
            await self._engine(kind, chosen).prepare()

    async def _ear(self, model: str, language: str | None) -> tuple[str, Model | None]:
        wanted = self._settings.stt if model == AUTO else model
        return wanted, choose_ear(wanted, base_language(language), await FILES.run(self._folder.models))

    async def _voice(self, model: str, voice: str, language: str) -> tuple[str, Model | None, Sequence[Model]]:
        wanted = next((each for each in (voice, model, self._settings.tts) if each not in ("", AUTO)), AUTO)
        voices = [each for each in await FILES.run(self._folder.models) if each.engine is Engine.PIPER]
        return wanted, choose_voice(wanted, language, voices), voices

    async def close(self) -> None:
        """End all engines."""
        for each in self._engines.values():
            await each.close()
        await self._tasks.cancel_all()

    def _engine(self, kind: str, model: Model | None) -> EngineProcess:
        path = model.path if model is not None else ""
        if (kind, path) not in self._engines:
            settings = self._settings
            self._engines[kind, path] = EngineProcess(
                model.name if model is not None else ESPEAK,
                (*(settings.command or self._command(kind)), kind, path, str(settings.threads)),
                self._clock,
                self._tasks,
                timeout_s=settings.timeout_s,
                idle_s=settings.idle_s,
            )
        return self._engines[kind, path]

    def _command(self, kind: str) -> tuple[str, ...]:
        if self._folder.has_engines:
            return (str(self._folder.python), "-I", str(WORKER))
        if kind != "espeak":
            raise Unavailable("the engines are not installed, or their Python is gone: `homarus voice install engines`")
        return (sys.executable, "-I", "-S", str(WORKER))


def choose_ear(wanted: str, language: str | None, models: Sequence[Model]) -> Model | None:
    """Return the model that hears: the wanted one, or the largest that knows the language.

    Args:
        language: None if it is not known: then one that knows more than one language comes first.
        models: What is installed, the largest first.
    """
    able = [each for each in models if each.engine is Engine.WHISPER and wanted in (AUTO, each.name)]
    able.sort(key=lambda each: bool(each.languages) and language not in each.languages)
    return able[0] if able else None


def choose_voice(wanted: str, language: str, voices: Sequence[Model]) -> Model | None:
    """Return the voice that speaks a text: the wanted one if it knows the language, else one that does.

    Args:
        wanted: A name, `auto`, or espeak-ng.
        voices: What is installed.
    """
    if wanted == ESPEAK:
        return None
    named = next((each for each in voices if each.name == wanted), None)
    if named is not None and (not named.languages or language in named.languages):
        return named
    if named is None and wanted != AUTO:
        return None
    return next((each for each in voices if language in each.languages), None)


def as_written_here(text: str, heard: str, *languages: str | None) -> str:
    """Return Chinese in simplified signs, unless a language such as zh-TW is wanted; Whisper writes either.

    Args:
        heard: The language that was heard.
        languages: Of who speaks, and of the home; the first that is Chinese counts.
    """
    wanted = next((each for each in languages if each and base_language(each) == "zh"), "")
    return text if heard != "zh" or _TRADITIONAL.search(wanted) else simplified(text)


def spoken_language(text: str, language: str) -> str:
    """Return the language in which a text is read out: Chinese if it is written so, else the given one."""
    letters = len(_LETTERS.findall(text))
    is_chinese = letters > 0 and len(_HAN.findall(text)) >= HAN_SHARE * letters
    return "zh" if is_chinese else base_language(language) or "en"


def base_language(language: str | None) -> str | None:
    """Return a language without its country: zh of zh-CN."""
    return re.split(r"[-_]", language.lower())[0] if language else None
