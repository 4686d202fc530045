"""A browser with a microphone holds a talk: what it hears is a recording of espeak-ng's, over and over."""

from __future__ import annotations

import json
import shutil
import subprocess
import wave
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Locator, Page, Route, WebSocketRoute, expect

from hub.voice.contract import Sound
from hub.voice.sound import as_wav
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer
from tests.servers.speech_server import SpeechServer, tone
from tests.until import until
from tests.web.browser import NAMES, Chromium, is_ready, launched, opened
from tests.web.conftest import CONFIGURATION, sign_in
from tests.web.looks import ON_A_PHONE, faults

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed"),
]

SPEECH = """\
messages: {{inbound: {{debounce_ms: 0}}, queue: {{debounce_ms: 0}}, media: {{transcription_model: speech/ears}}}}
speech: {{model: speech/mouth, voice: alloy}}
"""
PROVIDER = (
    '    speech: {{api: openai, base_url: "{speech}", api_key: x, models: [{{id: ears}}, {{id: mouth}}]}}\nmemory:'
)
QUIET_S = (1.0, 4.0)
"""Silence before and after what is said."""
DENIED = (
    "() => { navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('no', 'NotAllowedError'); }; }"
)
LOUD = """async (meter, frames) => {
  for (let loud = 0; loud < frames; loud += meter.value > 0.1) await new Promise(requestAnimationFrame);
}"""
"""Waits until so many frames were drawn while somebody spoke."""
LONG = Sound(bytes(2 * 8_000 * 200), 8_000)
INSECURE = "() => { Object.defineProperty(globalThis, 'isSecureContext', {value: false}); }"


@pytest.fixture(scope="module")
def speech() -> Iterator[SpeechServer]:
    with SpeechServer() as server:
        yield server


@pytest.fixture(autouse=True)
def fresh(speech: SpeechServer) -> None:
    speech.reset()


@pytest.fixture(scope="module")
def hub(
    model_server: OpenAIServer, speech: SpeechServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HubProcess]:
    home = tmp_path_factory.mktemp("talk") / "home"
    home.mkdir(mode=0o700)
    configured = CONFIGURATION.replace("memory:", PROVIDER) + SPEECH
    text = configured.format(base_url=model_server.base_url, speech=speech.base_url)
    (home / "configuration.yaml").write_text(text)
    with HubProcess(home) as process:
        yield process


@pytest.fixture(scope="module")
def microphone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the browser's microphone hears."""
    said, file = (tmp_path_factory.mktemp("said") / name for name in ("said.wav", "microphone.wav"))
    subprocess.run(["espeak-ng", "-w", str(said), "Turn on the light in the kitchen, please."], check=True)
    with wave.open(str(said)) as spoken, wave.open(str(file), "wb") as heard:
        heard.setparams(spoken.getparams())
        before, after = (bytes(2 * round(spoken.getframerate() * seconds)) for seconds in QUIET_S)
        heard.writeframes(before + spoken.readframes(spoken.getnframes()) + after)
    return file


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def browser(microphone: Path) -> AsyncIterator[Browser]:
    async with launched(NAMES, f"--use-file-for-fake-audio-capture={microphone}") as started:
        yield started


async def talking(page: Page) -> Locator:
    await page.get_by_role("button", name="Talk").click()
    panel = page.get_by_role("dialog", name="Talk")
    await expect(panel).to_have_attribute("data-state", "listening")
    return panel


def extra_prompt(model_server: OpenAIServer) -> str:
    return str(model_server.requests()[-1]["body"]["messages"][0]["content"])


async def test_a_talk_is_held_with_free_hands_and_speaking_breaks_an_answer_off(
    page: Page, model_server: OpenAIServer, speech: SpeechServer
) -> None:
    speech.texts += ["Turn on the light in the kitchen", "And the one in the hall"]
    speech.seconds = 30
    model_server.queue("The kitchen light is on. It is **dim**.", "Both are on.")
    panel, log = await talking(page), page.get_by_role("log")

    await expect(panel).to_have_attribute("data-state", "hearing")
    await panel.get_by_role("meter").evaluate(LOUD, 1)
    await expect(panel).to_have_attribute("data-state", "speaking")
    await expect(panel).to_contain_text("Turn on the light in the kitchen")
    await expect(panel).to_contain_text("The kitchen light is on. It is dim.")
    await expect(log).to_contain_text("Turn on the light in the kitchen")
    await expect(log).to_contain_text("The kitchen light is on. It is dim.")
    assert speech.spoken[:2] == ["The kitchen light is on.", "It is dim."]
    assert 1.5 < speech.heard_s[0] < 5

    await expect(panel).to_contain_text("And the one in the hall")
    await expect(panel).to_contain_text("Both are on.")
    assert "of the 8 words of it that were there, they heard" in extra_prompt(model_server)
    await expect(log).to_contain_text("Both are on.")

    await expect(panel).to_have_attribute("data-state", "speaking")
    await page.keyboard.press("Escape")
    await expect(panel).to_have_attribute("data-state", "listening")
    await page.keyboard.press("Escape")
    await expect(panel).to_be_hidden()


class Scripted:
    """The hub's side of a talk, of which every word is told by the test.

    Attributes:
        came: What the page sent.
    """

    def __init__(self) -> None:
        self.came: list[dict[str, Any]] = []
        self._socket: WebSocketRoute

    def take(self, socket: WebSocketRoute) -> None:
        self._socket = socket
        socket.on_message(self._note)

    def _note(self, message: str | bytes) -> None:
        if isinstance(message, str) and message.startswith("{"):
            self.came.append(json.loads(message))

    def tell(self, *told: dict[str, Any], sound: bytes | None = None) -> None:
        for each in told:
            self._socket.send(json.dumps(each))
        if sound is not None:
            self._socket.send(sound)

    async def heard(self) -> dict[str, Any]:
        """Return how much the page says that was heard."""
        await until(lambda: [each for each in self.came if each["t"] == "heard"])
        return next(each for each in reversed(self.came) if each["t"] == "heard")


async def test_words_are_shown_while_they_are_heard_and_an_answer_is_paused_for_them(signed_in: BrowserContext) -> None:
    hub, page = Scripted(), await signed_in.new_page()  # a tab of its own, as it keeps who takes its sockets
    await page.route_web_socket("**/talk", hub.take)
    await page.goto(f"/chat?session=agent:main:webchat:direct:{uuid4().hex}")
    await is_ready(page)
    await page.get_by_role("button", name="Talk").click()
    panel = page.get_by_role("dialog", name="Talk")
    await until(lambda: {"t": "free", "on": True} in hub.came)
    you, answer = panel.locator(".talk-you"), panel.locator(".talk-answer")
    colour = "each => getComputedStyle(each).color"

    hub.tell({"t": "state", "state": "listening"}, {"t": "hearing", "on": True}, {"t": "words", "text": "打开厨房"})
    await expect(you).to_have_text("打开厨房")
    await expect(panel).to_have_attribute("data-state", "hearing")
    quiet = await you.evaluate(colour)
    assert await faults(page) == []
    hub.tell(
        {"t": "words", "text": "打开厨房的灯"}, {"t": "hearing", "on": False}, {"t": "heard", "text": "打开厨房的灯。"}
    )
    await expect(you).to_have_text("打开厨房的灯。")
    assert await you.evaluate(colour) != quiet

    hub.tell({"t": "said", "n": 1, "text": "The light is on.", "sound": True}, sound=as_wav(LONG))
    await expect(panel).to_have_attribute("data-state", "speaking")
    for _ in range(2):  # it is paused again after it went on
        hub.came.clear()
        hub.tell({"t": "pause"}, {"t": "hearing", "on": True}, {"t": "words", "text": "Well"})
        heard = await hub.heard()
        assert (heard["n"], 0.0 <= heard["part"] < 1.0) == (1, True)
        await expect(panel).to_have_attribute("data-state", "hearing")
        await expect(you).to_have_text("Well")
        await expect(answer).to_be_hidden()
        hub.tell({"t": "hearing", "on": False}, {"t": "silence"})
        await expect(panel).to_have_attribute("data-state", "thinking")
        await expect(you).to_have_text("打开厨房的灯。")
        hub.tell({"t": "resume"})
        await expect(panel).to_have_attribute("data-state", "speaking")
        await expect(answer).to_have_text("The light is on.")

    hub.tell({"t": "pause"}, {"t": "said", "n": 2, "text": "And?", "sound": True}, sound=tone(0.1))
    hub.tell({"t": "hush"}, {"t": "heard", "text": "Stop"}, {"t": "state", "state": "listening"})
    await expect(panel).to_have_attribute("data-state", "listening")
    await expect(you).to_have_text("Stop")
    hub.tell({"t": "said", "n": 3, "text": "I am silent.", "sound": True}, sound=tone(0.1))
    await until(lambda: {"t": "played", "n": 3} in hub.came)
    assert [each["n"] for each in hub.came if each["t"] == "played"] == [3]


async def test_the_space_bar_is_held_to_talk_and_a_tap_ends_what_is_said(
    page: Page, model_server: OpenAIServer, speech: SpeechServer
) -> None:
    speech.texts.append("Good evening")
    speech.seconds = 30
    model_server.queue("Good evening to you.")
    panel = await talking(page)
    await panel.get_by_role("switch", name="Hands-free").uncheck()
    await expect(panel).to_contain_text("Hold the button or the space bar, and speak")
    await panel.get_by_role("button", name="Hold to talk").focus()
    await page.keyboard.down("Space")
    await panel.get_by_role("meter").evaluate(LOUD, 30)
    await page.keyboard.up("Space")

    await expect(panel).to_have_attribute("data-state", "speaking")
    await expect(panel).to_contain_text("Good evening to you.")
    await panel.locator(".talk-orb").click()
    await expect(panel).to_have_attribute("data-state", "listening")

    await panel.get_by_role("button", name="End the talk").click()
    await expect(panel).to_be_hidden()
    await expect(page.get_by_role("button", name="Talk")).to_be_focused()


async def test_who_is_muted_is_not_heard_and_the_talk_ends_when_its_tab_is_left(
    page: Page, speech: SpeechServer
) -> None:
    panel = await talking(page)
    await panel.get_by_role("button", name="Mute the microphone").click()

    await expect(panel).to_have_attribute("data-state", "muted")
    await expect(panel.get_by_role("button", name="Unmute the microphone")).to_have_attribute("aria-pressed", "true")
    await expect(panel.get_by_role("meter")).to_have_attribute("value", "0")
    await panel.get_by_role("button", name="Unmute the microphone").click()
    await expect(panel).to_have_attribute("data-state", "listening")

    await page.evaluate(
        """() => { Object.defineProperty(document, 'hidden', {value: true});
        document.dispatchEvent(new Event('visibilitychange')); }"""
    )
    await expect(panel).to_be_hidden()


@pytest.mark.parametrize(
    ("before", "hears", "told"),
    [
        (DENIED, True, "The browser does not give this page the microphone."),
        (INSECURE, True, "Open this page by the hub's https address."),
        ("", False, "Nothing here turns speech into words yet."),
    ],
)
async def test_what_is_missing_is_said_with_the_way_to_it(
    signed_in: BrowserContext, before: str, hears: bool, told: str
) -> None:
    page = await opened(signed_in, f"/chat?session=agent:main:webchat:direct:{uuid4().hex}")
    await page.evaluate(before or "null")

    async def change(route: Route) -> None:
        answer = await route.fetch()
        payload: dict[str, Any] = (await answer.json())["payload"]
        await route.fulfill(response=answer, json={"ok": True, "payload": {**payload, "hears": hears}})

    await page.route("**/api/rpc", change)
    await page.get_by_role("button", name="Talk").click()

    panel = page.get_by_role("dialog", name="Talk")
    await expect(panel.get_by_role("alert")).to_contain_text(told)
    assert await panel.get_by_role("link", name="Set up voice").count() == (0 if hears else 1)
    assert await panel.get_by_role("button", name="Try again").count() == (before == DENIED)
    assert await faults(page) == []


async def test_on_a_phone_it_is_all_of_the_screen(chromium: Chromium, hub: HubProcess, speech: SpeechServer) -> None:
    context = await sign_in(chromium, hub, **ON_A_PHONE)
    page = await opened(context, f"/chat?session=agent:main:webchat:direct:{uuid4().hex}")
    panel = await talking(page)

    assert await panel.bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 844}
    assert await faults(page) == []
