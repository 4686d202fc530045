"""A device that listens and speaks, as a satellite of the hub.

Source: https://developers.esphome.io/architecture/api/ (voice assistant), and how its firmware and
linux-voice-assistant take the events: sounds are fetched by an address, or sent to a bare speaker; the device tells
the end of one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from aioesphomeapi.client import APIClient
from aioesphomeapi.core import APIConnectionError
from aioesphomeapi.model import (
    EntityInfo,
    MediaPlayerCommand,
    MediaPlayerFormatPurpose,
    MediaPlayerInfo,
    VoiceAssistantAnnounceFinished,
    VoiceAssistantAudioSettings,
    VoiceAssistantCommandFlag,
    VoiceAssistantEventType as Happened,
    VoiceAssistantFeature,
    VoiceAssistantTimerEventType,
)
from msgspec.structs import replace

from hub.core.errors import HubError, Unavailable
from hub.core.phrases import phrase
from hub.voice.contract import BYTES_PER_S, RATE, Line, SatelliteInfo, Sound, Stage, TimerChange, TimerView
from hub.voice.sound import resampled
from integrations.devices.esphome.sounds import OfferedSound, OfferedSounds, SoundFormat

if TYPE_CHECKING:
    from hub.core.clock import Clock

CONFIGURATION_S = 5.0
FETCH_S = 8.0
"""So soon a device asks for a sound."""
SLACK_S = 10.0
"""So long after its length a sound may still be playing: it was loading, or an end was not told."""
EARLY_S = 0.7
"""A sound that ends so much before its length was ended by somebody there."""
START_S = 5.0
AHEAD_S = 0.25
"""Of sound that is sent to a speaker before its time: it keeps half a second."""
CHUNK_BYTES = 1_024
SILENCE = Sound(bytes(RATE // 5))
_TIMERS = {
    TimerChange.STARTED: VoiceAssistantTimerEventType.VOICE_ASSISTANT_TIMER_STARTED,
    TimerChange.UPDATED: VoiceAssistantTimerEventType.VOICE_ASSISTANT_TIMER_UPDATED,
    TimerChange.CANCELLED: VoiceAssistantTimerEventType.VOICE_ASSISTANT_TIMER_CANCELLED,
    TimerChange.FINISHED: VoiceAssistantTimerEventType.VOICE_ASSISTANT_TIMER_FINISHED,
}
_log = logging.getLogger(__name__)

Send = Callable[[Callable[[APIClient], Any]], None]


class _Run:
    """What the device has begun: it sends what it hears, until it is told that it ends.

    Attributes:
        waits_for_word: Whether it sends all, for the hub to find the wake word.
        is_pushed: Whether a button is held while somebody speaks, as far as the device says.
        is_heard: Whether what it sends is for the hub.
        told: The events that it was told of.
    """

    def __init__(self, flags: int) -> None:
        self.waits_for_word = bool(flags & VoiceAssistantCommandFlag.USE_WAKE_WORD)
        self.is_pushed = not flags & VoiceAssistantCommandFlag.USE_VAD
        self.is_heard = True
        self.told: set[Happened] = set()


class EsphomeSatellite:
    """The satellite.

    Args:
        send: Sends something to the device; raises `Unavailable` when it is away.
    """

    line: Line
    """The hub's side; set when the satellite is added."""

    def __init__(self, info: SatelliteInfo, send: Send, sounds: OfferedSounds, clock: Clock) -> None:
        self._info, self._send, self._sounds, self._clock = info, send, sounds, clock
        self._features = VoiceAssistantFeature(0)
        self._words: dict[str, str] = {}  # the id of each as it is spoken
        self._words_limit = 0
        self._form = SoundFormat()
        self._player: MediaPlayerInfo | None = None
        self._run: _Run | None = None
        self._text = ""
        self._playing: OfferedSound | None = None
        self._owes_end = self._streams = self._has_talked = False
        self._gone, self._started = asyncio.Event(), asyncio.Event()
        self._announced: asyncio.Future[Any] | None = None

    @property
    def info(self) -> SatelliteInfo:
        """What is known of it now."""
        return self._info

    # --- the connection ---

    async def came(self, client: APIClient, features: int, entities: Sequence[EntityInfo]) -> None:
        """Take over a connection."""
        self._features, self._gone = VoiceAssistantFeature(features), asyncio.Event()
        self._run, self._playing, self._owes_end, self._streams, self._has_talked = None, None, False, False, False
        self._player = next((each for each in entities if isinstance(each, MediaPlayerInfo)), None)
        self._form = _form_of(self._player)
        client.subscribe_voice_assistant(
            handle_start=self._start,
            handle_stop=self._stop,
            handle_audio=self._audio,
            handle_announcement_finished=self._end_told,
        )
        if self._features & VoiceAssistantFeature.ANNOUNCE:
            with suppress(TimeoutError, APIConnectionError):  # an old one knows no configuration
                found = await client.get_voice_assistant_configuration(CONFIGURATION_S)
                self._words = {each.wake_word: each.id for each in found.available_wake_words}
                self._words_limit = found.max_active_wake_words
        self._info = replace(self._info, wake_words=tuple(self._words.values()))
        self.line.changed()
        self.line.connected(is_connected=True)

    def went(self) -> None:
        """Note that the device is away."""
        self._run = None
        self._gone.set()
        self.line.connected(is_connected=False)

    # --- what the device does ---

    async def _start(self, _: str, flags: int, settings: VoiceAssistantAudioSettings, word: str | None) -> int:
        self._run = run = _Run(flags)
        self._has_talked, self._streams = True, False
        self._started.set()
        self._tell(Happened.VOICE_ASSISTANT_RUN_START)
        if not run.waits_for_word:
            if self._playing is not None:  # which is broken off now, and its end counts for nothing
                self._playing, self._owes_end = None, True
            self.line.wake(self._words.get(word, word) if word is not None else None)
            return 0
        self._tell(Happened.VOICE_ASSISTANT_WAKE_WORD_START)
        if not self._info.always_sends:
            self._info = replace(self._info, always_sends=True, wakes_itself=False)
            self.line.changed()
        return 0

    async def _audio(self, samples: bytes, further: bytes | None) -> None:
        if self._run is not None and self._run.is_heard:
            self.line.feed(samples)

    async def _stop(self, is_abort: bool) -> None:
        """Take that it sends no more: what was said has ended, or somebody has enough of it."""
        run = self._run
        if run is not None and run.is_heard and (run.is_pushed or not is_abort):
            self.line.end()
        elif run is not None or self._playing is not None:
            self.line.stop()

    async def _end_told(self, _: VoiceAssistantAnnounceFinished) -> None:
        """Take that a sound has ended; one that was never fetched is not meant, nor one whose end comes late."""
        playing = self._playing
        is_early = playing is not None and self._clock.monotonic() - playing.fetched_at < playing.seconds - EARLY_S
        if playing is None or not playing.fetched.is_set() or (is_early and self._owes_end):
            self._owes_end = False
            return
        playing.finished.set()
        if is_early:
            self.line.stop()

    # --- what the hub does ---

    async def show(self, stage: Stage, text: str = "") -> None:
        """Tell the device what goes on; see `Satellite.show`."""
        match stage:
            case Stage.LISTENING:
                if self._run is not None and self._run.waits_for_word:
                    self._once(Happened.VOICE_ASSISTANT_WAKE_WORD_END, wake_word=text)
                self._once(Happened.VOICE_ASSISTANT_STT_START)
            case Stage.PROCESSING:
                self._understood(text)
            case Stage.RESPONDING:
                self._text = text or self._text
            case Stage.IDLE:
                if self._run is None or Happened.VOICE_ASSISTANT_STT_START in self._run.told:
                    self._close(text)  # else it is about what went on before

    async def listen(self) -> None:
        """Have it listen, after a moment of silence that it plays: that is how it is told; see `Satellite.listen`."""
        if not self._features & VoiceAssistantFeature.START_CONVERSATION:
            text = phrase("{name} cannot be told to listen: it has no media player", name=self._info.name)
            raise Unavailable(text)
        self._started.clear()
        await self._play(SILENCE, listens=True)
        if not await self._comes(self._started, START_S):
            raise Unavailable(phrase("{name} does not listen: its microphone may be off", name=self._info.name))

    async def play(self, sound: Sound) -> None:
        """Play a sound; see `Satellite.play`."""
        if self._features & VoiceAssistantFeature.ANNOUNCE:
            await self._play(sound)
        elif self._features & VoiceAssistantFeature.SPEAKER:
            await self._stream(sound)
        else:
            raise Unavailable(phrase("{name} has no speaker, or its ESPHome is too old", name=self._info.name))

    async def choose_wake_words(self, words: Sequence[str]) -> None:
        """Have it listen for some of its wake words; with none of them it goes on as it is.

        Raises:
            Unavailable: It is away.
        """
        chosen = [each for each in words if each in self._info.wake_words]
        if left_out := chosen[self._words_limit :]:
            _log.warning("%s listens for %d wake words, not for %s", self._info.id, self._words_limit, left_out)
        if not chosen:
            return
        told: list[Coroutine[Any, Any, None]] = []
        self._send(lambda client: told.append(client.set_voice_assistant_configuration(chosen[: self._words_limit])))
        await told[0]

    # --- playing ---

    async def _play(self, sound: Sound, *, listens: bool = False) -> None:
        """Have it fetch a sound and play it; in a turn as the answer, else as an announcement.

        Args:
            listens: Whether it listens afterwards.
        """
        offered = self._playing = await self._sounds.offer(sound, self._form)
        try:
            if self._run is not None and not listens:
                self._answer(url=offered.url)
                self._close("")
            else:
                self._close("")
                self._announce(offered.url, listens=listens)
            if not await self._comes(offered.fetched, FETCH_S):
                raise Unavailable(
                    phrase(
                        "{name} did not fetch the sound from {url}: the device must reach the hub there, in the clear "
                        "or with a certificate that it knows (http: host, http: tls)",
                        name=self._info.name,
                        url=offered.url.partition("?")[0],
                    )
                )
            if not await self._comes(offered.finished, sound.seconds + SLACK_S):
                self._owes_end = True
                _log.info("%s did not tell that a sound has ended", self._info.id)
        except BaseException:
            if not offered.finished.is_set() and not self._gone.is_set():
                self._owes_end = True
                self._silence()
            raise
        finally:
            self._sounds.withdraw(offered)
            if self._playing is offered:
                self._playing = None

    def _announce(self, url: str, *, listens: bool) -> None:
        def announce(client: APIClient) -> None:
            told = client.send_voice_assistant_announcement_await_response(
                url, FETCH_S, self._text, start_conversation=listens
            )
            self._announced = asyncio.ensure_future(told)
            # Its answer is heard in `_end_told`, which knows whether it is meant.
            self._announced.add_done_callback(lambda task: task.cancelled() or task.exception())

        self._send(announce)

    def _silence(self) -> None:
        player = self._player
        if player is None:
            return
        with suppress(HubError):
            self._send(
                lambda client: client.media_player_command(
                    player.key, command=MediaPlayerCommand.STOP, announcement=True, device_id=player.device_id
                )
            )

    async def _stream(self, sound: Sound) -> None:
        """Send a sound to its speaker, a little before its time; in a turn, further ones follow in the same stream."""
        if not self._has_talked:
            text = phrase("{name} can be spoken to only once somebody has talked to it", name=self._info.name)
            raise Unavailable(text)
        samples = resampled(sound, RATE).samples
        is_turn = self._run is not None
        if not self._streams:
            offered = await self._sounds.offer(SILENCE, SoundFormat())
            self._sounds.withdraw(offered)  # it has to be given an address, and does not fetch it
            self._answer(url=offered.url)
            self._tell(Happened.VOICE_ASSISTANT_TTS_STREAM_START)
            self._streams = True
        began = self._clock.monotonic()
        try:
            for at in range(0, len(samples), CHUNK_BYTES):
                chunk = samples[at : at + CHUNK_BYTES]
                self._send(methodcaller("send_voice_assistant_audio", chunk))
                await self._pause(began + at / BYTES_PER_S - AHEAD_S)
            await self._pause(began + len(samples) / BYTES_PER_S)
        except BaseException:
            self._close("")
            raise
        if not is_turn:
            self._close("")

    async def _pause(self, until: float) -> None:
        if (left_s := until - self._clock.monotonic()) > 0:
            await self._clock.sleep(left_s)

    async def _comes(self, event: asyncio.Event, limit_s: float) -> bool:
        """Wait until something happens; return False when the time is over.

        Raises:
            Unavailable: The device went away.
        """
        waiting = [
            asyncio.ensure_future(each) for each in (event.wait(), self._gone.wait(), self._clock.sleep(limit_s))
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        if not event.is_set() and self._gone.is_set():
            raise Unavailable(phrase("{name} went away", name=self._info.name))
        return event.is_set()

    # --- the events of a run ---

    def _understood(self, text: str) -> None:
        """Tell that what was said has ended, and what it was."""
        if self._run is None:
            return
        self._run.is_heard = False
        self._once(Happened.VOICE_ASSISTANT_STT_VAD_END)
        if text:
            self._once(Happened.VOICE_ASSISTANT_STT_END, text=text)
            self._once(Happened.VOICE_ASSISTANT_INTENT_START)

    def _answer(self, *, url: str) -> None:
        """Tell that an answer is spoken."""
        self._understood("")
        self._once(Happened.VOICE_ASSISTANT_INTENT_END, conversation_id="", continue_conversation="0")
        self._tell(Happened.VOICE_ASSISTANT_TTS_START, text=self._text or "…")
        self._tell(Happened.VOICE_ASSISTANT_TTS_END, url=url)

    def _close(self, error: str) -> None:
        """End the run, if there is one."""
        if self._streams:
            self._streams = False
            self._tell(Happened.VOICE_ASSISTANT_TTS_STREAM_END)
        if self._run is None:
            return
        if error:
            self._tell(Happened.VOICE_ASSISTANT_ERROR, code="failed", message=error)
        self._tell(Happened.VOICE_ASSISTANT_RUN_END)
        self._run, self._text = None, ""

    def _once(self, event: Happened, **data: str) -> None:
        if self._run is not None and event not in self._run.told:
            self._run.told.add(event)
            self._tell(event, **data)

    def _tell(self, event: Happened, **data: str) -> None:
        with suppress(HubError):  # what is away is told of by its connection
            self._send(lambda client: client.send_voice_assistant_event(event, data))


class RingingSatellite(EsphomeSatellite):
    """A satellite that shows timers, and rings."""

    async def show_timer(self, change: TimerChange, timer: TimerView) -> None:
        """Show a timer; see `CanShowTimers`."""
        with suppress(HubError):
            self._send(
                lambda client: client.send_voice_assistant_timer_event(
                    _TIMERS[change], timer.id, timer.name, timer.total_s, timer.left_s, timer.is_active
                )
            )


def _form_of(player: MediaPlayerInfo | None) -> SoundFormat:
    """Return what a device wants to be announced in."""
    for each in player.supported_formats if player is not None else ():
        if each.purpose is MediaPlayerFormatPurpose.ANNOUNCEMENT:
            return SoundFormat(each.format == "flac", each.sample_rate)
    return SoundFormat()
