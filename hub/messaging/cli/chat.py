"""`homarus chat`: talk to an agent from the terminal."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
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
    """Send TEXT and print the answer; without TEXT, talk line by line.

    Example:
      homarus chat "remember that the boiler was serviced on 12 May"
      homarus chat --agent main --session main
      homarus chat --incognito
    """
    session_key = _session_key(session, agent)
    if incognito and session is not None:
        raise CommandFailed("Leave out --session: an --incognito conversation is a new one.", Exit.USAGE)
    talks = not text and sys.stdin.isatty()
    if talks and as_json:
        raise CommandFailed("--json needs a TEXT to send", Exit.USAGE)
    said = "" if talks else " ".join(text) or sys.stdin.read(TEXT_LIMIT)
    if not talks and not said.strip():
        raise CommandFailed("There is nothing to send.", Exit.USAGE)
    with _incognito(home, agent) if incognito else contextlib.nullcontext(session_key) as key:
        talk = _Talk(home, key)
        if talks:
            _interactive(talk)
            return
        answer = talk.ask(said)
    if as_json:
        print_json(answer)
    elif answer["reply"]:
        click.echo(answer["reply"])
    _show_notices(answer)
    if answer.get("error"):
        click.echo(f"{answer['error']['code']}: {answer['error']['message']}", err=True)
        ctx.exit(Exit.FINDINGS)


class _Talk:
    """One conversation."""

    def __init__(self, home: Path, session_key: str) -> None:
        self._client = HubClient(home)
        self._watching = HubClient(home)
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
            ended = self._ended(sent["runId"])
        except KeyboardInterrupt:
            self._client.call("chat.abort", {"sessionKey": self._session_key, "runId": sent["runId"]})
            raise
        answer = {
            "reply": "\n\n".join(filter(None, [sent.get("reply"), ended.get("reply")])),
            "run_id": ended["runId"],
            "session_key": ended.get("sessionKey", self._session_key),
            "usage": ended.get("usage"),
        }
        if "endedAt" not in ended:  # the wait is over, not the run
            raise CommandFailed(f"No answer within {ANSWER_LIMIT_S:g} s; the run continues.", Exit.FINDINGS)
        return answer | {key: ended[key] for key in ("notices", "error") if ended.get(key)}

    def _ended(self, run_id: str) -> dict[str, Any]:
        """Return the end of a run; meanwhile, print what its conversation needs from the owner.

        That can be an earlier run, behind which it waits.
        """
        deadline = time.monotonic() + ANSWER_LIMIT_S
        while True:
            wait_s = max(0.0, min(LOOK_S, deadline - time.monotonic()))
            ended: dict[str, Any] = self._client.call(
                "agent.wait", {"runId": run_id, "timeoutMs": int(wait_s * 1000)}, timeout_s=wait_s + 10
            )
            if "endedAt" in ended or time.monotonic() >= deadline:
                return ended
            self._tell_of_approvals(self._client)

    def stream(self, text: str) -> None:
        """Send a message and print the answer as it comes; stopping it stops the run.

        What the conversation waits for from the owner is said meanwhile.
        """
        ended = threading.Event()
        threading.Thread(target=self._watch, args=(ended,), daemon=True).start()
        try:
            self._print_answer(text)
        finally:
            ended.set()

    def _print_answer(self, text: str) -> None:
        self._in_a_line = False
        chunks = self._client.stream(
            "/v1/chat/completions",
            {"model": "homarus", "messages": [{"role": "user", "content": text}], "stream": True},
            {"x-homarus-session": self._session_key},
            timeout_s=ANSWER_LIMIT_S,
        )
        run_id = ""
        with contextlib.closing(chunks):
            for chunk in chunks:
                run_id = str(chunk.get("id", run_id)).removeprefix("chatcmpl-")
                if error := chunk.get("error"):
                    raise CommandFailed(str(error.get("message", error)))
                for choice in chunk.get("choices", []):
                    if piece := choice["delta"].get("content"):
                        click.echo(piece, nl=False)
                        self._in_a_line = not piece.endswith("\n")
        click.echo()
        _show_notices(self._client.call("agent.wait", {"runId": run_id, "timeoutMs": int(LOOK_S * 1000)}))

    def _watch(self, ended: threading.Event) -> None:
        # A connection of its own, in a thread of its own: the other one is read from. What fails is said over there.
        while not ended.wait(LOOK_S):
            with contextlib.suppress(CommandFailed):
                self._tell_of_approvals(self._watching)

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


def _interactive(talk: _Talk) -> None:
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  gives the prompt a history and an editor
    click.echo("Type a message; /help lists commands, /quit leaves, Ctrl+C stops an answer.")
    while True:
        try:
            said = input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            click.echo()
            return
        if said in _LEAVE:
            return
        if not said:
            continue
        try:
            if "/" in said:  # there may be commands in it, which the streaming API does not know
                click.echo(talk.ask(said)["reply"])
            else:
                talk.stream(said)
        except KeyboardInterrupt:
            click.echo("\nStopped.")
        except CommandFailed as failure:
            click.echo(failure.message, err=True)
            if failure.code is Exit.NOT_REACHABLE:
                raise


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


def _session_key(session: str | None, agent: str | None) -> str:
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
