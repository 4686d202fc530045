"""`homarus acp`: the running hub's agents for an editor, by the Agent Client Protocol on the standard streams.

Source: https://agentclientprotocol.com/protocol/overview. The other way round is `integrations.models.acp.session`.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock
from typing import Any

import click

from hub import __version__
from hub.cli.client import HubClient
from hub.cli.exits import CommandFailed
from hub.cli.groups import CliCommand
from hub.cli.options import home_option, json_option
from hub.core.ids import new_id

PROTOCOL_VERSION = 1
ANSWER_LIMIT_S = 3_900.0
"""An answer may wait for an approval."""
LOOK_S = 0.5
PARALLEL_LIMIT = 8
UNKNOWN_METHOD, BAD_PARAMS, FAILED, NOT_JSON = -32601, -32602, -32603, -32700
OPTIONS = (
    {"optionId": "allow-once", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "deny", "name": "Deny", "kind": "reject_once"},
)


@click.command("acp", cls=CliCommand)
@click.option("--agent", metavar="ID", help="The agent.  [default: the default agent]")
@home_option
@json_option
def command(agent: str | None, home: Path, as_json: bool) -> None:
    """Let an editor that speaks the Agent Client Protocol, such as Zed, talk to an agent of the running hub.

    Example:
      homarus acp --agent main
    """
    HubClient(home)  # says how to start one, before anything is read
    serve(home, agent, sys.stdin, click.echo)


def serve(home: Path, agent: str | None, lines: Iterable[str], write: Callable[[str], None]) -> None:
    """Answer an editor until its lines end; what still runs then is stopped."""
    editor = EditorSide(home, agent, write)
    with ThreadPoolExecutor(PARALLEL_LIMIT) as pool:
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:
                editor.send({"id": None, "error": {"code": NOT_JSON, "message": "this line is not JSON"}})
                continue
            if not isinstance(message, dict):
                continue
            if "method" not in message:
                editor.handle_answer(message)
            elif "id" in message:
                editor.expect(message)
                pool.submit(editor.answer, message)
            elif message["method"] == "session/cancel":
                editor.cancel(str((message.get("params") or {}).get("sessionId")))
        editor.close()


class EditorSide:
    """The conversations of one editor.

    Args:
        agent: The agent that it talks to; None is the default one.
        write: Sends a line to the editor.
    """

    def __init__(self, home: Path, agent: str | None, write: Callable[[str], None]) -> None:
        self._home, self._write = home, write
        self._prefix = f"agent:{agent}:acp-" if agent else "acp-"
        self._writing = Lock()
        self._asked: dict[str, Future[Mapping[str, Any]]] = {}
        self._running: set[str] = set()
        self._cancelled: set[str] = set()

    def answer(self, message: Mapping[str, Any]) -> None:
        """Answer a request."""
        handlers = {
            "initialize": self._initialize,
            "authenticate": lambda params: {},
            "session/new": lambda params: {"sessionId": f"{self._prefix}{new_id()}"},
            "session/load": self._load,
            "session/prompt": self._prompt,
        }
        handler = handlers.get(message["method"])
        try:
            if handler is None:
                failed = {"code": UNKNOWN_METHOD, "message": f"there is no method {message['method']}"}
                return self.send({"id": message["id"], "error": failed})
            self.send({"id": message["id"], "result": handler(message.get("params") or {})})
        except CommandFailed as error:
            self.send({"id": message["id"], "error": {"code": FAILED, "message": error.message}})
        except (KeyError, TypeError, AttributeError) as error:
            why = f"the parameters of {message['method']} are not as expected: {error}"
            self.send({"id": message["id"], "error": {"code": BAD_PARAMS, "message": why}})

    def expect(self, message: Mapping[str, Any]) -> None:
        """Note that a request has come which may be cancelled before it is begun."""
        if message["method"] == "session/prompt":
            session = str((message.get("params") or {}).get("sessionId"))
            self._running.add(session)
            self._cancelled.discard(session)

    def handle_answer(self, message: Mapping[str, Any]) -> None:
        """Take the editor's answer to a request of ours."""
        waiting = self._asked.pop(str(message.get("id")), None)
        if waiting is not None:
            result = message.get("result")
            waiting.set_result(result if isinstance(result, Mapping) else {})

    def cancel(self, session: str) -> None:
        """Stop what runs in a conversation."""
        if session in self._running:
            self._cancelled.add(session)
            with contextlib.suppress(CommandFailed):
                HubClient(self._home).call("chat.abort", {"sessionKey": session})

    def close(self) -> None:
        """Stop everything: the editor has gone."""
        for session in [*self._running]:
            self.cancel(session)
        for waiting in [*self._asked.values()]:
            waiting.cancel()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message to the editor."""
        with self._writing:
            self._write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False))

    def _initialize(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        prompts = {"image": False, "audio": False, "embeddedContext": True}
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": {"loadSession": True, "promptCapabilities": prompts},
            "agentInfo": {"name": "homarus", "title": "Homarus", "version": __version__},
            "authMethods": [],
        }

    def _load(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        session = params["sessionId"]
        kinds = {"user": "user_message_chunk", "assistant": "agent_message_chunk"}
        for entry in HubClient(self._home).call("sessions.transcript", {"key": session})["entries"]:
            message = entry.get("message") or {}
            for block in message.get("content", ()):
                if message.get("role") in kinds and block.get("type") == "text":
                    self._say(session, kinds[message["role"]], block["text"])
        return {}

    def _prompt(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        session = str(params["sessionId"])
        said = {
            "model": "homarus",
            "messages": [{"role": "user", "content": text_of(params["prompt"])}],
            "stream": True,
        }
        headers = {"x-homarus-session": session}
        if any(block.get("type") == "resource" for block in params["prompt"]):
            headers["x-homarus-outside"] = "quoted"
        ended, stop = Event(), "end_turn"
        chunks = HubClient(self._home).stream("/v1/chat/completions", said, headers, timeout_s=ANSWER_LIMIT_S)
        with ThreadPoolExecutor(1) as watching, contextlib.closing(chunks):  # whoever goes away stops the answer
            watching.submit(self._pass_on_approvals, session, ended)
            try:
                for chunk in chunks if session not in self._cancelled else ():
                    if session in self._cancelled:
                        break
                    if error := chunk.get("error"):
                        raise CommandFailed(str(error.get("message", error)))
                    for choice in chunk.get("choices", ()):
                        if piece := choice["delta"].get("content"):
                            self._say(session, "agent_message_chunk", piece)
                        stop = "max_tokens" if choice.get("finish_reason") == "length" else stop
            finally:
                ended.set()
                self._running.discard(session)
        return {"stopReason": "cancelled" if session in self._cancelled else stop}

    def _say(self, session: str, kind: str, text: str) -> None:
        update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
        self.send({"method": "session/update", "params": {"sessionId": session, "update": update}})

    def _pass_on_approvals(self, session: str, ended: Event) -> None:
        """Ask the editor about the pending approvals of a conversation, and pass its answers on."""
        client, seen = HubClient(self._home), set[str]()
        waiting: dict[str, Future[Mapping[str, Any]]] = {}
        while not ended.wait(LOOK_S):
            with contextlib.suppress(CommandFailed):  # there is no conversation yet, or it was answered elsewhere
                key = client.call("sessions.resolve", {"key": session})["key"]
                for each in client.call("approval.list", {})["approvals"]:
                    if each["sessionKey"] == key and each["id"] not in seen:
                        seen.add(each["id"])
                        waiting[each["id"]] = self._ask(session, each)
                for id in [id for id, answer in waiting.items() if answer.done()]:
                    client.call("approval.resolve", {"id": id, "decision": _decision(waiting.pop(id))})

    def _ask(self, session: str, approval: Mapping[str, Any]) -> Future[Mapping[str, Any]]:
        shown = f"{approval['text']}\n\n{json.dumps(approval['details'], ensure_ascii=False, indent=2)}"
        call = {
            "toolCallId": approval["id"],
            "title": approval["title"],
            "status": "pending",
            "content": [{"type": "content", "content": {"type": "text", "text": shown}}],
        }
        id = new_id()
        waiting = self._asked[id] = Future[Mapping[str, Any]]()
        params = {"sessionId": session, "toolCall": call, "options": OPTIONS}
        self.send({"id": id, "method": "session/request_permission", "params": params})
        return waiting


def _decision(answer: Future[Mapping[str, Any]]) -> str:
    outcome = {} if answer.cancelled() else answer.result().get("outcome") or {}
    allowed = outcome.get("outcome") == "selected" and outcome.get("optionId") == "allow-once"
    return "allow-once" if allowed else "deny"


def text_of(blocks: Iterable[Mapping[str, Any]]) -> str:
    """Return a prompt as text: its words, embedded files, and the addresses of linked ones.

    A file is quoted: its words may be anybody's.
    """
    from hub.tools.quoting import quote_untrusted

    parts = []
    for block in blocks:
        match block.get("type"):
            case "text":
                parts.append(block["text"])
            case "resource":
                inner = block["resource"]
                text = f"{inner.get('uri', '')}:\n{inner.get('text', '[not a text]')}"
                parts.append(quote_untrusted(text, source="a file in the editor"))
            case "resource_link":
                parts.append(f"[{block.get('name', '')}]({block['uri']})")
            case other:
                parts.append(f"[{other} was here; only text is read]")
    return "\n\n".join(parts)


COMMANDS = {"acp": command}
