"""The full-screen terminal: a conversation, its tools, pending approvals, other conversations, models."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Footer, Input, Markdown, OptionList, Static
from textual.widgets.option_list import Option

from hub.cli.exits import CommandFailed
from hub.cli.hub_link import HubLink
from hub.cli.remote import RemoteHome
from hub.core.ids import new_id

HISTORY_LIMIT = 100
SHOWN_LIMIT = 400
"""Messages and tool calls on the screen; the oldest goes beyond it."""
SESSIONS_LIMIT = 100
ARGUMENTS_CHARS = 200
DECISIONS = {"allow-once": "Allow once", "allow-always": "Always allow this", "deny": "Deny"}


class ApprovalScreen(ModalScreen[str | None]):
    """Asks the owner to approve exactly what is shown."""

    BINDINGS: ClassVar[list[Any]] = [("escape", "dismiss(None)", "Later")]

    def __init__(self, asked: Mapping[str, Any]) -> None:
        super().__init__()
        self._request = asked["request"]

    def compose(self) -> ComposeResult:
        """Show the request and the answers to it."""
        with Vertical(classes="box"):
            yield Static(str(self._request.get("warningText") or ""), markup=False)
            with VerticalScroll():
                yield Static(str(self._request.get("command") or ""), markup=False, classes="exactly")
            for decision in self._request.get("allowedDecisions") or ("deny",):
                yield Button(DECISIONS.get(decision, decision), id=decision)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer."""
        self.dismiss(event.button.id)


class ChoiceScreen(ModalScreen[str | None]):
    """Asks for one of several choices, or a written answer."""

    BINDINGS: ClassVar[list[Any]] = [("escape", "dismiss(None)", "Back")]

    def __init__(self, title: str, options: Sequence[tuple[str, str]], *, free: bool = False) -> None:
        super().__init__()
        self._heading = title
        self.choices = options
        self._free = free

    def compose(self) -> ComposeResult:
        """Show the choices."""
        with Vertical(classes="box"):
            yield Static(self._heading, markup=False)
            if self.choices:
                yield OptionList(
                    *(Option(label, id=str(at), disabled=False) for at, (_, label) in enumerate(self.choices)),
                    markup=False,
                )
            if self._free:
                yield Input(placeholder="Your answer")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take a choice."""
        self.dismiss(self.choices[event.option_index][0])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take what was written."""
        if event.value.strip():
            self.dismiss(event.value.strip())


class HomarusTui(App[None]):
    """Talks to one hub.

    Args:
        home: Its home directory, or a `RemoteHome`.
        session: The conversation to begin with.

    Attributes:
        failure: Why it ended by itself.
    """

    TITLE = "Homarus"
    CSS = """
    .said { margin: 1 0 0 0; color: $text-accent; text-style: bold; }
    .tool, .note { color: $text-muted; }
    .failed { color: $text-error; }
    .box { width: 80%; max-height: 80%; height: auto; background: $surface; border: round $primary; padding: 1 2; }
    .exactly { margin: 1 0; }
    .box VerticalScroll { height: auto; max-height: 20; }
    ModalScreen { align: center middle; }
    #state { height: 1; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[Any]] = [
        ("ctrl+n", "new", "New"),
        ("ctrl+r", "sessions", "Conversations"),
        ("ctrl+o", "models", "Model"),
        ("escape", "stop", "Stop"),
        ("ctrl+q", "quit", "Leave"),
    ]

    def __init__(self, home: Path | RemoteHome, session: str = "main") -> None:
        super().__init__()
        self.failure: CommandFailed | None = None
        self._link = HubLink(home)
        self._key = session
        self._view = VerticalScroll(id="chat")
        self._state = Static("", id="state", markup=False)
        self._answers: dict[str, Markdown] = {}
        self._ended: dict[str, None] = {}
        self._tools: dict[str, Static] = {}
        self._asked: dict[str, ModalScreen[str | None]] = {}

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield self._view
        yield self._state
        yield Input(placeholder="Write to the assistant; /help lists commands", id="say")
        yield Footer()

    def on_mount(self) -> None:
        """Connect."""
        self.query_one("#say", Input).focus()
        self.follow()

    @work(exclusive=True)
    async def follow(self) -> None:
        """Connect, show the conversation and pending questions, then follow the hub's events; exit when it stops."""
        try:
            await self._link.open()
            await self._show_session(self._key)
            for method, show in (("exec.approval.list", self._approve), ("question.list", self._answer)):
                await self._show_waiting(method, show)
            while (event := await self._link.events.get()) is not None:
                await self._told(*event)
            raise CommandFailed("The hub has closed the connection.")
        except CommandFailed as failure:
            self.failure = failure
            self.exit()

    async def on_unmount(self) -> None:
        """Disconnect."""
        await self._link.close()

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        """Send what was written."""
        text = event.value.strip()
        if event.input.id != "say" or not text:
            return
        event.input.value = ""
        await self._add(Static(f"› {text}", markup=False, classes="said"))
        self.send(text)

    @work
    async def send(self, text: str) -> None:
        """Send a message; its answer comes as events, or at once for a command."""
        sent = await self._call("chat.send", sessionKey=self._key, message=text, idempotencyKey=new_id())
        if sent and sent.get("reply"):
            await self._final(sent["runId"], sent["reply"])
            if sent.get("sessionKey", self._key) != self._key:
                await self._show_session(sent["sessionKey"])

    @work
    async def action_stop(self) -> None:
        """Stop the runs of the conversation."""
        await self._call("chat.abort", sessionKey=self._key)

    @work
    async def action_new(self) -> None:
        """Begin another conversation."""
        created = await self._call("sessions.create")
        if created:
            await self._show_session(created["key"])

    @work
    async def action_sessions(self) -> None:
        """Choose another conversation."""
        found = await self._call("sessions.list", limit=SESSIONS_LIMIT) or {"sessions": []}
        rows = [
            (row["key"], f"{row.get('displayName') or row.get('label') or row['key']}") for row in found["sessions"]
        ]
        chosen = await self.push_screen_wait(ChoiceScreen("Conversations", rows))
        if chosen is not None:
            await self._show_session(chosen)

    @work
    async def action_models(self) -> None:
        """Choose the model of the conversation."""
        found = await self._call("models.list") or {"models": []}
        refs = [f"{each['provider']}/{each['id']}" for each in found["models"]]
        chosen = await self.push_screen_wait(ChoiceScreen("Models", [(ref, ref) for ref in refs]))
        if chosen is not None and await self._call("sessions.patch", key=self._key, model=chosen):
            await self._note(f"{chosen} answers here from now on.")

    async def _approve(self, asked: Mapping[str, Any]) -> None:
        """Ask for the decision about an agent's action."""
        decision = await self._wait_for(str(asked["id"]), ApprovalScreen(asked))
        if decision is not None:
            await self._call("exec.approval.resolve", id=asked["id"], decision=decision)

    async def _answer(self, asked: Mapping[str, Any]) -> None:
        """Ask an agent's question."""
        question = asked["questions"][0]
        options = [(each["label"], each["label"]) for each in question.get("options") or ()]
        answer = await self._wait_for(str(asked["id"]), ChoiceScreen(question["question"], options, free=True))
        if answer is not None:
            await self._call("question.resolve", id=asked["id"], answer=answer)

    async def _wait_for(self, id: str, screen: ModalScreen[str | None]) -> str | None:
        if id in self._asked:
            return None
        self._asked[id] = screen
        try:
            return await self.push_screen_wait(screen)
        finally:
            del self._asked[id]

    async def _show_waiting(self, method: str, show: Callable[[Mapping[str, Any]], Awaitable[None]]) -> None:
        try:
            found = await self._link.call(method)
        except CommandFailed:  # whoever may not answer is not asked
            return
        for each in found["questions"] if isinstance(found, Mapping) else found:
            self.run_worker(show(each))

    async def _show_session(self, key: str) -> None:
        history = await self._link.call("chat.history", sessionKey=key, limit=HISTORY_LIMIT)
        self._key = history["sessionKey"]
        self._answers.clear()
        self._tools.clear()
        await self._view.remove_children()
        for message in history["messages"]:
            text = _text(message)
            if message["role"] == "user" and text:
                await self._add(Static(f"› {text}", markup=False, classes="said"))
            elif message["role"] == "assistant" and text:
                await self._add(Markdown(text))
        self._state.update(self._key)

    async def _told(self, name: str, payload: Mapping[str, Any]) -> None:
        """Show a hub event."""
        if name == "exec.approval.requested":
            self.run_worker(self._approve(payload))
        elif name == "question.requested":
            self.run_worker(self._answer(payload))
        elif name in ("exec.approval.resolved", "question.resolved"):
            screen = self._asked.get(str(payload.get("id")))
            if screen is not None and screen.is_current:
                screen.dismiss(None)
        elif payload.get("sessionKey") != self._key:
            return
        elif name == "chat":
            await self._chat(payload)
        elif name == "agent" and payload.get("stream") == "tool":
            await self._tool(payload["data"])

    async def _chat(self, payload: Mapping[str, Any]) -> None:
        run_id, state = payload["runId"], payload["state"]
        text = _text(payload.get("message") or {})
        if state == "delta":
            if run_id not in self._ended:
                shown = self._answers.get(run_id) or await self._begin(run_id)
                await shown.update(text)
                self._to_end()
            return
        await self._final(run_id, text)
        if state == "error":
            await self._note(f"{payload.get('errorKind')}: {payload.get('errorMessage')}", "failed")
        elif state == "aborted":
            await self._note("Stopped.")

    async def _begin(self, run_id: str) -> Markdown:
        shown = self._answers[run_id] = Markdown("")
        await self._add(shown)
        return shown

    async def _final(self, run_id: str, text: str) -> None:
        if run_id in self._ended:
            return
        self._ended[run_id] = None
        if len(self._ended) > SHOWN_LIMIT:
            del self._ended[next(iter(self._ended))]
        shown = self._answers.pop(run_id, None)
        if shown is not None or text:
            await (shown or await self._begin(run_id)).update(text)
            self._answers.pop(run_id, None)
            self._to_end()

    async def _tool(self, data: Mapping[str, Any]) -> None:
        id, name = str(data["toolCallId"]), data["name"]
        if data["phase"] == "start":
            shown = self._tools[id] = Static(f"· {name} {_short(data.get('args'))}", markup=False, classes="tool")
            await self._add(shown)
        elif data["phase"] == "result" and (known := self._tools.pop(id, None)) is not None:
            mark = "✗" if data.get("isError") else "✓"
            known.update(f"{mark} {name}: {_short(data.get('result'))}")

    async def _note(self, text: str, kind: str = "note") -> None:
        await self._add(Static(text, markup=False, classes=kind))

    async def _add(self, widget: Static | Markdown) -> None:
        if not self._view.is_attached:  # the program ends
            return
        await self._view.mount(widget)
        if len(self._view.children) > SHOWN_LIMIT:
            await self._view.children[0].remove()
        self._to_end()

    def _to_end(self) -> None:
        self._view.scroll_end(animate=False)

    async def _call(self, method: str, **params: Any) -> Any:
        """Call a method; show a refusal."""
        try:
            return await self._link.call(method, **params)
        except CommandFailed as failure:
            await self._note(failure.message, "failed")
            return None


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content if part.get("type") == "text")


def _short(value: Any) -> str:
    text = " ".join(str(value or "").split())
    return text if len(text) <= ARGUMENTS_CHARS else f"{text[:ARGUMENTS_CHARS]}…"
