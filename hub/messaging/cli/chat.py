"""`homarus chat`: talk to an agent from the terminal."""

from __future__ import annotations

import contextlib
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed, Exit
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option, print_json
from hub.core.ids import new_id
from hub.tools.cli.approvals import question_lines

ANSWER_LIMIT_S = 900.0
LOOK_S = 2.0
"""How often is looked whether a run waits for the owner."""
WAKE_S = 1.0
"""How long an incognito conversation may go on after the signal that ends it."""
TEXT_LIMIT = 1_000_000
PROMPT = "> "
_LEAVE = {"/quit", "/exit", "/q"}


@click.command("chat", cls=CliCommand)
@click.argument("text", nargs=-1)
@click.option("--session", "session", metavar="KEY", help="The conversation.  [default: the agent's main one]")
@click.option("--agent", metavar="ID", help="The agent.  [default: the default agent]")
@click.option("--incognito", is_flag=True, help="A conversation of its own, whose words are deleted when it ends.")
@home_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    text: tuple[str, ...],
    session: str | None,
    agent: str | None,
    incognito: bool,
    home: Path,
    as_json: bool,
) -> None:
    """Send TEXT and print the answer; without TEXT, talk line by line. With - the whole standard input is the message.

    Example:
      homarus chat "remember that the boiler was serviced on 12 May"
      homarus chat --agent main --session main
      homarus chat --incognito
    """
    session_key = session_key_of(session, agent)
    if incognito and session is not None:
        raise CommandFailed("Leave out --session: an --incognito conversation is a new one.", Exit.USAGE)
    talks = not text and sys.stdin.isatty()
    if talks and as_json:
        raise CommandFailed("--json needs a TEXT to send", Exit.USAGE)
    said = [] if talks else messages(text)
    if not talks and not said:
        raise CommandFailed("There is nothing to send.", Exit.USAGE)
    failed = False
    with _incognito(home, agent) if incognito else contextlib.nullcontext(session_key) as key:
        talk = Talk(home, key)
        if talks:
            _interactive(talk)
        for each in said:
            answer = talk.ask(each)
            show(answer, as_json=as_json)
            failed = failed or bool(answer.get("error"))
    if failed:
        ctx.exit(Exit.FINDINGS)


def messages(text: tuple[str, ...]) -> list[str]:
    """Return what is to be sent: the words, with `-` the standard input, and without words each line of that."""
    if text and text != ("-",):
        said = [" ".join(text)]
    else:
        given = sys.stdin.read(TEXT_LIMIT)
        said = [given] if text else given.splitlines()
    return [each.strip() for each in said if each.strip()]


def show(answer: Mapping[str, Any], *, as_json: bool) -> None:
    """Print an answer and what is told beside it."""
    if as_json:
        print_json(answer)
    elif answer["reply"]:
        click.echo(answer["reply"])
    _show_notices(answer)
    if error := answer.get("error"):
        click.echo(f"{error['code']}: {error['message']}", err=True)


class Talk:
    """One conversation."""

    def __init__(self, home: Path, session_key: str) -> None:
        self._home = home
        self._client = HubClient(home)
        self._session_key = session_key
        self._told: set[str] = set()
        self._in_a_line = False

    def ask(self, text: str) -> dict[str, Any]:
        """Send a message, wait for the run that answers it and return the answer."""
        params = {"sessionKey": self._session_key, "message": text, "idempotencyKey": new_id()}
        sent = self._client.call("chat.send", params)
        if sent["status"] == "ok":  # a slash command, which no model answers
            return {
                "reply": sent["reply"],
                "run_id": sent["runId"],
                "session_key": sent.get("sessionKey", self._session_key),
                "usage": None,
            }
        try:
            ended = self.ended(sent["runId"])
        except KeyboardInterrupt:
            self._client.call("chat.abort", {"sessionKey": self._session_key, "runId": sent["runId"]})
            raise
        answer = {
            "reply": "\n\n".join(filter(None, [sent.get("reply"), ended.get("reply")])),
            "run_id": ended["runId"],
            "session_key": ended.get("sessionKey", self._session_key),
            "usage": ended.get("usage"),
        }
        return answer | {key: ended[key] for key in ("notices", "error") if ended.get(key)}

    def ended(self, run_id: str, limit_s: float = ANSWER_LIMIT_S) -> dict[str, Any]:
        """Return the end of a run; meanwhile, print what its conversation needs from the owner.

        That can be an earlier run, behind which it waits.

        Raises:
            CommandFailed: It has not ended in time; it continues.
        """
        deadline = time.monotonic() + limit_s
        while True:
            wait_s = max(0.0, min(LOOK_S, deadline - time.monotonic()))
            ended: dict[str, Any] = self._client.call(
                "agent.wait", {"runId": run_id, "timeoutMs": int(wait_s * 1000)}, timeout_s=wait_s + 10
            )
            if "endedAt" in ended:
                return ended
            if time.monotonic() >= deadline:
                raise CommandFailed(f"No answer within {limit_s:g} s; the run continues.", Exit.FINDINGS)
            self._tell_of_approvals(self._client)

    def converse(self, read: Callable[[], str | None], redraw: Callable[[], str]) -> None:
        """Send each line that is read, print the answers as they come, and what else is said meanwhile.

        Args:
            read: Returns the next line; None at the end.
            redraw: Returns the line that is being typed, with its prompt.

        Raises:
            CommandFailed: The hub cannot be reached any more.
        """
        key = self._client.call("chat.history", {"sessionKey": self._session_key, "limit": 1})["sessionKey"]
        heard = _Heard(key, redraw)
        _follow(self._home, heard)
        while (said := read()) is not None:
            try:
                self._print_answer(said, heard)
            except KeyboardInterrupt:
                click.echo("\nStopped.")
            except CommandFailed as failure:
                click.echo(failure.message, err=True)
                if failure.code is Exit.NOT_REACHABLE:
                    raise
            finally:
                heard.rest()

    def _print_answer(self, text: str, heard: _Heard) -> None:
        """Send a message and print its answer as it comes; stopping it stops the run."""
        self._in_a_line = False
        id = new_id()
        heard.listen()
        params = {"sessionKey": self._session_key, "message": text, "idempotencyKey": id}
        sent = self._client.call("chat.send", params)
        if sent.get("reply"):
            click.echo(sent["reply"])
        if sent["status"] == "ok":  # a slash command, which no model answers
            return
        run_id = sent["runId"]
        try:
            self._stream(run_id, heard)
        except KeyboardInterrupt:
            self._client.call("chat.abort", {"sessionKey": self._session_key, "runId": run_id})
            raise
        _show_notices(self._client.call("agent.wait", {"runId": run_id, "timeoutMs": int(LOOK_S * 1000)}))

    def _stream(self, run_id: str, heard: _Heard) -> None:
        part = printed = ""
        deadline = time.monotonic() + ANSWER_LIMIT_S
        while time.monotonic() < deadline:
            event = heard.next(LOOK_S)
            if event is None:  # nothing for a while: does it wait for a word, or was it answered with another one?
                self._tell_of_approvals(self._client)
                ended = self._client.call("agent.wait", {"runId": run_id, "timeoutMs": 0})
                if "endedAt" not in ended:
                    continue
                event = {"runId": run_id, "state": "final", "message": {"content": ended.get("reply") or ""}}
                if ended.get("error"):
                    event |= {"errorKind": ended["error"]["code"], "errorMessage": ended["error"]["message"]}
            if event["runId"] != run_id:
                heard.later(event)
                continue
            whole = _text(event.get("message") or {})
            if event["state"] == "delta" or not _has(printed, whole):
                more = whole.removeprefix(part) if whole.startswith(part) else f"\n{whole}"
                click.echo(more, nl=False)
                part, printed = whole, printed + more
                self._in_a_line = not whole.endswith("\n")
            if event["state"] == "delta":
                continue
            if self._in_a_line:
                click.echo()
            if event.get("errorKind"):
                click.echo(f"{event['errorKind']}: {event.get('errorMessage')}", err=True)
            return
        raise CommandFailed(f"No answer within {ANSWER_LIMIT_S:g} s; the run continues.", Exit.FINDINGS)

    def _tell_of_approvals(self, client: HubClient) -> None:
        """Print pending approvals and questions of this conversation, each once."""
        key = client.call("sessions.resolve", {"key": self._session_key})["key"]
        for each in client.call("question.list", {})["questions"]:
            if each["sessionKey"] == key and each["code"] not in self._told:
                self._told.add(each["code"])
                if self._in_a_line:
                    click.echo(err=True)
                click.echo(
                    f"{question_lines(each)}Answer in another terminal, or in the dashboard: "
                    f"homarus approvals answer {each['code']} ANSWER",
                    err=True,
                )
        for each in client.call("approval.list", {})["approvals"]:
            if each["sessionKey"] == key and each["code"] not in self._told:
                self._told.add(each["code"])
                if self._in_a_line:
                    click.echo(err=True)
                click.echo(
                    f"It waits for your word on: {each['title']}. Say it in another terminal, or in the dashboard: "
                    f"homarus approvals approve {each['code']}, or deny {each['code']}",
                    err=True,
                )


def _show_notices(ended: Mapping[str, Any]) -> None:
    """Print notices beside a run's answer, for instance that another model answered."""
    if notices := ended.get("notices"):
        from hub.messaging.limit_texts import notice_text

        click.echo("\n".join(notice_text(each, "en") for each in notices), err=True)


class _Heard:
    """What the hub pushes about a conversation: kept for an answer that is waited for, else printed at once.

    Args:
        session_key: Of the conversation, as the hub names it.
        redraw: Returns the line that is being typed, with its prompt.
    """

    def __init__(self, session_key: str, redraw: Callable[[], str]) -> None:
        self._key = session_key
        self._redraw = redraw
        self._events: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._later: list[Mapping[str, Any]] = []
        self._lock = threading.Lock()
        self._is_waited_for = False
        self._is_over = False

    def told(self, event: Mapping[str, Any] | None) -> None:
        """Take an event, from any thread; None is the end of the connection."""
        if event is not None and event.get("sessionKey") != self._key:
            return
        with self._lock:
            self._is_over = self._is_over or event is None
            if self._is_waited_for:
                self._events.put(None if event is None else dict(event))
            elif event is not None and (words := _words(event)):
                click.echo(f"\r\x1b[K{words}\n{self._redraw()}", nl=False)

    def listen(self) -> None:
        """Keep events from now on."""
        with self._lock:
            self._is_waited_for = True

    def next(self, within_s: float) -> dict[str, Any] | None:
        """Return the next event, None when none came in time.

        Raises:
            CommandFailed: The hub has closed the connection.
        """
        try:
            event = self._events.get(timeout=within_s)
        except queue.Empty:
            event = None
        if event is None and self._is_over:
            raise CommandFailed("The hub has closed the connection.", Exit.NOT_REACHABLE)
        return event

    def later(self, event: Mapping[str, Any]) -> None:
        """Keep an event that belongs to another answer until this one is printed."""
        self._later.append(event)

    def rest(self) -> None:
        """Print what else was said meanwhile, and print at once from now on."""
        with self._lock:
            while not self._events.empty():
                if (event := self._events.get()) is not None:
                    self._later.append(event)
            self._is_waited_for = False
            for each in self._later:
                if words := _words(each):
                    click.echo(words)
            self._later.clear()


def _follow(home: Path, heard: _Heard) -> None:
    """Begin to follow the hub's events in a thread of its own, which ends with the program.

    Raises:
        CommandFailed: The hub cannot be reached, or refuses us.
    """
    import asyncio  # one message needs neither it nor aiohttp

    from hub.cli.hub_link import HubLink

    begun: queue.SimpleQueue[CommandFailed | None] = queue.SimpleQueue()

    async def follow() -> None:
        link = HubLink(home)
        try:
            await link.open()
        except CommandFailed as failure:
            begun.put(failure)
            return
        begun.put(None)
        while (event := await link.events.get()) is not None:
            if event[0] == "chat":
                heard.told(event[1])
        heard.told(None)

    threading.Thread(target=lambda: asyncio.run(follow()), name="follow the hub", daemon=True).start()
    if (failure := begun.get()) is not None:
        raise failure


def _words(event: Mapping[str, Any]) -> str:
    """Return the words of a message that is whole: a reminder, or an answer to somebody else."""
    return _text(event.get("message") or {}) if event.get("state") == "final" else ""


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content if part.get("type") == "text")


def _has(shown: str, whole: str) -> bool:
    """Whether a text is on the screen already, however it was broken into parts."""
    return "".join(whole.split()) in "".join(shown.split())


def _interactive(talk: Talk) -> None:
    typed: Callable[[], str] = str
    with contextlib.suppress(ImportError):
        import readline  # gives the prompt a history and an editor

        typed = readline.get_line_buffer
    click.echo("Type a message; /help lists commands, /quit leaves, Ctrl+C stops an answer.")

    def read() -> str | None:
        while True:
            try:
                said = input(PROMPT).strip()
            except (EOFError, KeyboardInterrupt):
                click.echo()
                return None
            if said:
                return None if said in _LEAVE else said

    talk.converse(read, lambda: PROMPT + typed())


@contextlib.contextmanager
def _incognito(home: Path, agent: str | None) -> Iterator[str]:
    """Begin an incognito conversation and give its key; delete it at the end, also when the terminal is closed."""
    client = HubClient(home)
    created = client.call("sessions.create", {"incognito": True, **({"agentId": agent} if agent else {})})
    ends = (signal.SIGHUP, signal.SIGTERM)
    before = [signal.signal(each, lambda number, _frame: sys.exit(128 + number)) for each in ends]
    # A signal just before `input` begins to wait is handled only when that wait ends: the timer ends it.
    before.append(signal.signal(signal.SIGALRM, lambda _number, _frame: None))
    signal.setitimer(signal.ITIMER_REAL, WAKE_S, WAKE_S)
    try:
        yield created["key"]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for each, handler in zip((*ends, signal.SIGALRM), before, strict=True):
            signal.signal(each, handler)
        try:
            client.call("sessions.delete", {"key": created["key"]})
        except CommandFailed as failure:
            click.echo(f"Not deleted yet, which happens within a day: {failure.message}", err=True)


def session_key_of(session: str | None, agent: str | None) -> str:
    """Return the requested session.

    Raises:
        CommandFailed: The session belongs to another agent than the named one.
    """
    if agent is None:
        return session or "main"
    prefix = f"agent:{agent}:"
    if session is None or not session.startswith("agent:"):
        return f"{prefix}{session or 'main'}"
    if not session.startswith(prefix):
        raise CommandFailed(f"--session {session} is not one of the agent {agent}.", Exit.USAGE)
    return session
