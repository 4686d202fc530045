"""The hub at one satellite: it hears, has what was said answered, and speaks; a turn at a time."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

from hub.core.errors import HubError, TimedOut, Unavailable
from hub.core.phrases import phrase
from hub.messaging.texts import say
from hub.models.transcription import SpeechPiece, TellWords
from hub.voice.chimes import Chime, chime
from hub.voice.contract import CanChooseWakeWords, Satellite, Sound, Stage
from hub.voice.ear import Ear
from hub.voice.engines import within
from hub.voice.line_home import LineHome
from hub.voice.mouth import Mouth, Utterance, cut_short
from hub.voice.segmenter import SpeechBegan
from hub.voice.settings import named
from hub.voice.turn import Outcome, Turn, asks_back, is_stop
from hub.voice.wake import SoundStream

_log = logging.getLogger(__name__)

STALLED_S = 4.0
"""A device that sends nothing for so long while somebody speaks sends no more."""
RING_WORDS_S = 4.0
"""What is said to something that rings is no longer than that."""
ANSWER_S = 90.0
"""What takes longer is said when it comes."""
BEFORE_MS = 1_500
"""Who speaks right after the wake word speaks before anything knows how loud the room is."""
UNWANTED_KEPT = 100


class _Late(TimedOut):
    """The answer takes longer than anybody waits."""


class SatelliteLine:
    """The line of a satellite; see `hub.voice.contract.Line`.

    Attributes:
        info: What the device said last of itself.
        settings: What holds for it.
        stage: What it does.
        turn: What goes on there; None between turns.
    """

    def __init__(self, satellite: Satellite, home: LineHome[SatelliteLine]) -> None:
        self.satellite = satellite
        self._home, self._clock, self._tasks = home, home.clock, home.tasks
        self.settings = home.settings.of(satellite.info)
        self.info = named(satellite.info, self.settings)
        self.stage = Stage.IDLE
        self.is_connected = False
        self.turn: Turn | None = None
        self.mouth = Mouth(
            satellite, home.clock, home.tasks, self._sound_of, self._speaks, self._not_spoken, self._silent
        )
        self._paused: Turn | None = None
        """The turn whose answer goes on if nothing is said in the present one."""
        self._ear = Ear(self._listen, self._judge, self._so_far, home.tasks, silence_ms=self.settings.silence_ms)
        self._fed_at = 0.0
        self._unwanted: deque[str] = deque(maxlen=UNWANTED_KEPT)
        self._note = ""
        self._awaited: Turn | None = None
        self._rings = False
        self.overheard: Turn | None = None
        """What is listened to between two rings."""
        self._wake: SoundStream | None = None
        self._listens_for: tuple[Any, ...] = ()
        self.trouble = ""

    # --- what the device says ---

    def wake(self, word: str | None = None) -> None:
        """Begin a turn; see `Line.wake`."""
        if is_stop(word):
            self.stop()
            return
        if (awaited := self._awaited) is not None:  # it was asked to listen, and begins to
            self._awaited = None
            if not awaited.is_between_rings:
                self._home.fire_stopped(self.info.id)
            self._begin(awaited)
            return
        self._home.fire_stopped(self.info.id)
        if (turn := self.turn) is not None and turn.is_listening and turn.is_follow_up and not turn.is_speech:
            turn.wake_word = word
            return
        self._pause()
        self._begin(self.new_turn(word))
        if self.settings.sounds and not self.info.wakes_itself:
            self._chime(Chime.WAKE)

    def feed(self, samples: bytes) -> None:
        """Hear; see `Line.feed`."""
        turn = self.turn
        if turn is None or not turn.is_listening:
            if self.info.always_sends:
                self._overhear(samples)
            return
        if self._wake is not None and turn.wake_word is None and not turn.is_follow_up:  # somebody spoke over an answer
            self._wake.feed(samples)
        self._fed_at = self._clock.monotonic()
        turn.weigh(samples)
        for each in self._ear.feed(samples):
            if isinstance(each, SpeechBegan):
                turn.is_speech = True
                continue
            turn.hear(each.sound)
            return
        self._ear.hear(turn)

    def end(self) -> None:
        """Hear no more; see `Line.end`."""
        if (turn := self.turn) is not None:
            turn.hear(self._ear.said if turn.is_speech else None)

    def heard(self, text: str) -> None:
        """Take words; see `Line.heard`."""
        if self.turn is None or not self.turn.is_listening:
            self.wake()
        if self.turn is not None:
            self.turn.hear(text)

    def stop(self) -> None:
        """End what goes on; see `Line.stop`."""
        turns = self.going
        self._interrupt()
        for turn in turns:
            if turn.run_id is not None:
                self._home.abort(turn.run_id)
        self._home.fire_stopped(self.info.id)

    def connected(self, *, is_connected: bool) -> None:
        """Note whether the device can be reached; see `Line.connected`."""
        if is_connected is self.is_connected:
            return
        self.is_connected = is_connected
        if not is_connected:
            away = Unavailable(phrase("{satellite} was disconnected", satellite=self.info.name))
            self.mouth.fail(away)
            for turn in self.going:
                self._finish(turn, Outcome.FAILED, away.message)
        else:
            self._choose_wake_words()
            self._home.prepare(self)
        self._home.show(self)

    def changed(self) -> None:
        """Take over what the device says of itself now; see `Line.changed`."""
        self.info = self.satellite.info
        self.configure()

    # --- what the hub does ---

    def configure(self) -> None:
        """Take over the settings."""
        before, self.settings = self.settings, self._home.settings.of(self.satellite.info)
        self.info = named(self.satellite.info, self.settings)
        if before.wake_words != self.settings.wake_words:
            self._choose_wake_words()
        self.listen_for_words()
        self._home.describe(self)

    def listen_for_words(self) -> None:
        """Have its wake words found here, if the device sends all that it hears."""
        wanted = (self.settings.wake_words, self.settings.sensitivity) if self.info.always_sends else ()
        if wanted == self._listens_for:
            return
        self._listens_for = wanted
        if self._wake is not None:
            self._wake.close()
            self._wake = None
        if wanted:
            words, sensitivity = wanted
            self._wake = self._home.wake_engines.open(self.info.id, words, sensitivity, self._woken, self._told_trouble)

    def _told_trouble(self, text: str) -> None:
        self.trouble = text
        if text:
            _log.warning("%s: %s", self.info.id, text)
        self._home.show(self)

    def close(self) -> None:
        """End: the satellite is removed."""
        self.mouth.fail(Unavailable(phrase("{satellite} was disconnected", satellite=self.info.name)))
        for turn in self.going:
            self._finish(turn, Outcome.INTERRUPTED)
        if self._wake is not None:
            self._wake.close()

    @property
    def going(self) -> list[Turn]:
        """What goes on there: the present turn behind the one that it may interrupt."""
        return [each for each in (self._paused, self.turn) if each is not None]

    @property
    def language(self) -> str | None:
        """What is spoken there."""
        return self.settings.language or self.info.language or self._home.language_of(self.settings.person)

    def say(self, text: str, language: str | None = None, *, before: Sound | None = None) -> Utterance:
        """Say something after what is being said.

        Raises:
            Unavailable: It is away.
        """
        self.require_connected()
        return self.mouth.say(text, language or self.language, before=before)

    def require_connected(self) -> None:
        """Check that the device can be reached.

        Raises:
            Unavailable: It cannot.
        """
        if not self.is_connected:
            raise Unavailable(phrase("{satellite} is away", satellite=self.info.name))

    async def answer(self, text: str, run_id: str | None) -> None:
        """Say a message of the conversation.

        Returns when it can sound, so that the next one is made meanwhile; or when what nobody asked for has sounded.

        Raises:
            HubError: It cannot be said.
        """
        if run_id is not None and run_id in self._unwanted:
            return
        self.require_connected()
        asked = (each for each in self.going if each.run_id is not None and run_id in (None, each.run_id))
        if (turn := next(asked, None)) is None:
            await self.mouth.say(text, self.language, run_id=run_id).ended
            return
        self._mark(turn, "answer")
        turn.answer.append(text)
        await self.mouth.say(text, self.language, run_id=turn.run_id).ready

    def ring(self, *, is_ringing: bool) -> None:
        """Note that it rings, or no more."""
        self._rings = is_ringing
        if self.turn is None and not self.mouth.is_busy:
            self._silent()

    async def overhear(self, window_s: float) -> str:
        """Listen between two rings; see `Satellites.overhear`."""
        turn = self.overheard = self.new_turn()
        turn.is_between_rings, turn.patience_s, turn.longest_s = True, window_s, window_s + RING_WORDS_S
        turn.question = asyncio.get_running_loop().create_future()
        try:
            if not self.info.always_sends:
                await self.listen(turn)
                return await turn.question
            self._ear.begin(self.settings.silence_ms)
            said = await self._listened(turn)  # and meanwhile to its wake word
            return await self._ear.understood(turn, said) if isinstance(said, bytes) and said else ""
        finally:
            self.overheard = None
            turn.hear(None)
            turn.hear_no_more()

    async def listen(self, turn: Turn) -> None:
        """Let the device listen, and begin a turn.

        Raises:
            HubError: It cannot.
        """
        self._awaited = turn
        turn.is_follow_up = not turn.is_between_rings  # who touches the device then begins a turn
        try:
            await self.satellite.listen()
        finally:
            waits, self._awaited = self._awaited is turn, None
        if waits:
            self._interrupt()
            self._begin(turn)

    def answer_ended(self, turn: Turn) -> None:
        """No more of an answer comes; it is over when it has been said."""
        turn.is_over = True
        if not self.mouth.is_busy:
            turn.complete.set()

    # --- a turn ---

    def new_turn(self, word: str | None = None) -> Turn:
        """Return a turn; one without a wake word is begun by `listen`."""
        return Turn(self.info.id, self.info.name, self._clock.time(), self._clock.monotonic(), word)

    def _begin(self, turn: Turn) -> None:
        turn.began, turn.began_at = self._clock.monotonic(), self._clock.time()
        self.turn = turn
        if not turn.is_speech:  # else the beginning of it was heard
            self._hear_anew()
        self._fed_at = turn.began
        self._ear.attend()
        self.mouth.hold()
        self._become(Stage.LISTENING, turn.wake_word or "")
        self._tell(turn, "wake", {"wake_word": turn.wake_word} if turn.wake_word else {})
        turn.task = self._tasks.spawn(self._run(turn), name=f"turn at {self.info.id}")
        ready = self._home.engines.prepare(self.settings, self.language)
        self._tasks.spawn(ready, name="prepare what hears and speaks")
        self._home.nearest.begin(turn)

    async def _run(self, turn: Turn) -> None:
        try:
            outcome = await self._outcome(turn)
        except HubError as error:
            await self._fail(turn, error)
            return
        except Exception as error:
            await self._fail(turn, Unavailable(phrase("an error of the program: {error}", error=repr(error)[:200])))
            raise
        self._finish(turn, outcome, turn.error)
        if outcome is Outcome.ANSWERED and turn.question is None and self.turn is None:
            await self._follow_up(turn)

    async def _outcome(self, turn: Turn) -> Outcome:
        said = await self._listened(turn)
        self._ear.rest()
        self._mark(turn, "heard")
        if self._paused is None and self.mouth.saying is None:
            self.mouth.release()
        if not said:
            return Outcome.SILENCE if said is None else Outcome.NOISE
        self._become(Stage.PROCESSING)
        if await self._home.nearest.has_heard(turn, said):
            return Outcome.ELSEWHERE
        if not (text := await self._ear.understood(turn, said)):
            return Outcome.NOISE
        if self._home.nearest.has_understood(turn, text):
            return Outcome.ELSEWHERE
        paused = self._paused
        self._drop_paused()
        turn.text = text
        turn.understood.set()
        self._mark(turn, "text", text=text)
        self._become(Stage.PROCESSING, text)
        if turn.question is not None:
            return Outcome.ANSWERED
        if is_stop(text):
            if paused is not None and paused.run_id is not None:
                self._home.abort(paused.run_id)
            self._home.fire_stopped(self.info.id)
            return Outcome.ANSWERED
        if (told := await self._home.answer_ring(self.info.id, text)) is not None:
            turn.answer.append(told)
            await self.mouth.say(told, self.language).ended
            return Outcome.ANSWERED
        await self._ask(turn)
        return Outcome.FAILED if turn.error else Outcome.ANSWERED

    async def _listened(self, turn: Turn) -> bytes | str | None:
        """Return what was said, when it has ended, as the device says or as is heard."""
        while not turn.said.done():
            now = self._clock.monotonic()
            quiet_s = self._fed_at + STALLED_S if turn.is_speech else turn.began + turn.patience_s
            left_s = min(quiet_s, turn.began + turn.longest_s) - now
            if left_s <= 0:
                turn.hear(self._ear.said if turn.is_speech else None)
                break
            sleeping = asyncio.ensure_future(self._clock.sleep(left_s))
            try:
                await asyncio.wait((turn.said, sleeping), return_when=asyncio.FIRST_COMPLETED)
            finally:
                sleeping.cancel()
        return turn.said.result()

    async def _listen(self, pieces: AsyncIterator[SpeechPiece], tell: TellWords) -> str:
        return await self._home.engines.listen(pieces, self.settings, self.language, tell, may_work=False)

    def _judge(self, judged: Callable[[float], None]) -> SoundStream | None:
        return self._home.wake_engines.judge(self.info.id, judged) if self.settings.vad == "auto" else None

    async def _sound_of(self, text: str, language: str | None) -> Sound:
        return await self._home.engines.sound_of(text, self.settings, language)

    async def _ask(self, turn: Turn) -> None:
        """Have the agent answer, until all was said."""
        note, self._note = self._note, ""
        await self._home.deliver(self, turn, note)
        late = phrase("there is no answer within {seconds} s; it is said when it comes", seconds=int(ANSWER_S))
        while not turn.complete.is_set():
            try:
                await within(self._clock, turn.complete.wait(), ANSWER_S, late)
            except TimedOut as error:
                if not self.mouth.is_busy:  # else it is a long answer
                    raise _Late(error.message) from error
        if not turn.answer and not turn.error:
            self._mark(turn, "answer")

    async def _follow_up(self, turn: Turn) -> None:
        if not (self.settings.follow_up and turn.answer and asks_back(turn.answer[-1])):
            return
        try:
            await self.listen(self.new_turn())
        except HubError as error:
            _log.info("%s cannot listen for an answer: %s", self.info.id, error.message)

    async def _fail(self, turn: Turn, error: HubError) -> None:
        """Tell who stands there that it failed, aloud if that can be."""
        _log.warning("%s: %s", self.info.id, error.message)
        is_here = self.is_connected and turn in self.going and not turn.is_between_rings
        self._finish(turn, Outcome.FAILED, error.message)
        if is_here:
            if self.settings.sounds:
                self.mouth.play(chime(Chime.ERROR))
            key = "voice.late" if isinstance(error, _Late) else "voice.failed"
            self.mouth.say(say(key, self.language or "en"), self.language)

    def _finish(self, turn: Turn, outcome: Outcome, error: str = "") -> None:
        """End a turn, once."""
        if turn.outcome is not None:
            return
        turn.outcome, turn.error = outcome, error
        turn.understood.set()
        if turn.question is not None and not turn.question.done():
            if outcome is Outcome.FAILED:
                turn.question.set_exception(Unavailable(error))
                turn.question.exception()
            else:
                turn.question.set_result(turn.text)
        if turn.task is not None and turn.task is not asyncio.current_task():
            turn.task.cancel()
        turn.hear_no_more()
        if self._paused is turn:
            self._paused = None
        if self.turn is turn:
            self._ear.rest()
            if outcome not in (Outcome.SILENCE, Outcome.NOISE):
                self._drop_paused()
            self.turn, self._paused = self._paused, None
            self.mouth.release()
            if self.turn is None and not self.mouth.is_busy:
                self._become(Stage.IDLE, error)
            elif outcome in (Outcome.SILENCE, Outcome.NOISE):
                self._go_on()
        if turn.is_between_rings:
            return
        self._mark(turn, "done", outcome=outcome.value, **({"error": error} if error else {}))
        self._home.keep(turn)

    def _go_on(self) -> None:
        """Have the device hear no more, and show what it did before."""
        self._show_there(Stage.IDLE)
        saying = self.mouth.saying
        if saying is not None and saying.began.done():
            self._become(Stage.RESPONDING, saying.text)
        elif self.turn is not None:
            self.stage = Stage.PROCESSING
            self._home.show(self)

    def _interrupt(self) -> None:
        """Be silent, forget what was still to be said, and note how much was heard."""
        cut, turns = self.mouth.break_off(), self.going
        for turn in turns:
            self._give_up(turn, cut)
        if not turns and self.stage is not Stage.IDLE:
            self._become(Stage.IDLE)

    def _pause(self) -> None:
        """Be silent for now: somebody may speak. What is answered goes on when nobody does."""
        turn = self.turn
        if turn is not None and (turn.is_listening or self._paused is not None):
            self.turn = None  # what is paused still waits for what comes of the next one
            self._finish(turn, Outcome.INTERRUPTED)
        elif turn is not None:
            self._paused = turn
        self.mouth.pause()

    def _drop_paused(self) -> None:
        """Give up what was answered before: somebody speaks."""
        cut = self.mouth.break_off(others=False)
        if (paused := self._paused) is not None:
            self._give_up(paused, cut)
        self.mouth.release()

    def _give_up(self, turn: Turn, cut: Utterance | None) -> None:
        if turn.run_id is not None:
            self._unwanted.append(turn.run_id)
            if cut is not None and cut.run_id == turn.run_id:
                self._note = cut_short(turn.answer, cut)
        self._finish(turn, Outcome.INTERRUPTED)

    def _overhear(self, samples: bytes) -> None:
        """Hear while nobody was called: what wakes it, and who speaks while it speaks."""
        if self._wake is not None:
            self._wake.feed(samples)
            if self.turn is not None and self.turn.is_listening:  # that was it
                return
        saying = self.mouth.saying
        for each in self._ear.feed(samples, is_over=saying is not None):
            if (between := self.overheard) is not None:
                self._fed_at, between.is_speech = self._clock.monotonic(), True
                if not isinstance(each, SpeechBegan):
                    between.hear(each.sound)
                continue
            if not isinstance(each, SpeechBegan):
                continue
            if saying is None or saying.run_id is None or not self.settings.barge_in:
                continue
            turn = self.new_turn()
            turn.is_speech = turn.is_barge_in = True
            self._pause()
            self._begin(turn)
            return

    def _woken(self, word: str, since: bytes) -> None:
        """Take a wake word that was found here: what was said after it counts, and nothing before it."""
        if (turn := self.turn) is not None and turn.is_listening:
            turn.wake_word, turn.is_speech = word, False
            self._hear_anew()
        else:
            self.wake(word)
        self.feed(since)

    def _hear_anew(self) -> None:
        self._ear.begin(self.settings.silence_ms, before_ms=BEFORE_MS)
        if self.turn is not None:
            self.turn.hear_no_more()
            self.turn.hearing = None

    # --- what is told ---

    def _so_far(self, turn: Turn, words: str) -> None:
        self._tell(turn, "hearing", {"text": words})

    def _speaks(self, utterance: Utterance) -> None:
        self._ear.echo.begin(utterance.text)
        if (turn := self.turn) is not None and utterance.run_id is not None and utterance.run_id == turn.run_id:
            self._mark(turn, "speech")
        self._become(Stage.RESPONDING, utterance.text)

    def _not_spoken(self, utterance: Utterance, error: HubError) -> None:
        """Show at least what could not be spoken."""
        _log.warning("%s: nothing was said: %s", self.info.id, error.message)
        self._become(Stage.RESPONDING, utterance.text)
        if (turn := self.turn) is not None and utterance.run_id == turn.run_id:
            turn.error = error.message
        if self.is_connected and self.settings.sounds:
            self._chime(Chime.ERROR)

    def _silent(self) -> None:
        self._ear.echo.end()
        if self.turn is None:
            if not self._rings:
                self._become(Stage.IDLE)
        elif self.turn.is_over:
            self.turn.complete.set()

    def _chime(self, kind: Chime) -> None:
        async def play() -> None:
            try:
                await self.satellite.play(chime(kind))
            except HubError as error:
                _log.info("%s: %s", self.info.id, error.message)

        self._tasks.spawn(play(), name="chime")

    def _become(self, stage: Stage, text: str = "") -> None:
        is_ring = self._rings and (self.turn is None or self.turn.is_between_rings)
        self.stage = Stage.RESPONDING if is_ring else stage
        self._home.show(self)
        self._show_there(stage, text)

    def _show_there(self, stage: Stage, text: str = "") -> None:
        self._tasks.spawn(self.satellite.show(stage, text), name=f"show at {self.info.id}")

    def _mark(self, turn: Turn, stage: str, **about: Any) -> None:
        if turn.mark(stage, self._clock.monotonic()) is not None:
            self._tell(turn, stage, about)

    def _tell(self, turn: Turn, stage: str, about: dict[str, Any]) -> None:
        if not turn.is_between_rings:
            self._home.tell(self, turn, stage, about)

    def _choose_wake_words(self) -> None:
        words, satellite = self.settings.wake_words, self.satellite
        if words and isinstance(satellite, CanChooseWakeWords):
            known = [each for each in words if each in self.info.wake_words]
            self._tasks.spawn(satellite.choose_wake_words(known), name=f"wake words of {self.info.id}")
