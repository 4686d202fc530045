"""A program that speaks the Agent Client Protocol, version 1, and does what the first word of a prompt says.

Options: `--log FILE` keeps what it is sent; `--version N`, `--exit`, `--garbage`, `--signed-out`, `--load`, `--images`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

OPTIONS = sys.argv[1:]
ASKED = 1_000
ALLOW_ALWAYS = {"optionId": "always", "name": "Always allow", "kind": "allow_always"}
CHOICES = [
    ALLOW_ALWAYS,
    {"optionId": "once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
]


def option(name: str) -> str | None:
    return OPTIONS[OPTIONS.index(name) + 1] if name in OPTIONS else None


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    if (log := option("--log")) is not None:
        with open(log, "a") as file:
            file.write(line)
    message: dict[str, Any] = json.loads(line)
    return message


def update(session: str, what: str, **fields: Any) -> None:
    send({"method": "session/update", "params": {"sessionId": session, "update": {"sessionUpdate": what, **fields}}})


def say(session: str, text: str, kind: str = "agent_message_chunk") -> None:
    update(session, kind, content={"type": "text", "text": text})


def ask(session: str, options: list[dict[str, str]], raw: dict[str, Any]) -> str:
    update(session, "tool_call", toolCallId="c1", title="Run \u202erm notes.txt", kind="execute")
    call = {"toolCallId": "c1", "rawInput": raw}
    params = {"sessionId": session, "toolCall": call, "options": options}
    send({"id": ASKED, "method": "session/request_permission", "params": params})
    return json.dumps(receive()["result"]["outcome"], sort_keys=True)


def do(session: str, words: list[str], times: int) -> None:
    match words:
        case ["greet", *_]:
            say(session, "Let me see.", "agent_thought_chunk")
            say(session, "Looking.")
            update(session, "tool_call", toolCallId="c0", title="Read notes.txt", kind="read", status="pending")
            update(session, "tool_call_update", toolCallId="c0", status="failed")
            update(session, "plan", entries=[])
            say(session, "Hello")
            say(session, f" number {times}.")
        case ["where"]:
            say(session, json.dumps({"folder": os.getcwd(), "seen": sorted(os.environ), "argv": OPTIONS}))
        case ["ask"]:
            say(session, ask(session, CHOICES, {"command": "rm notes.txt"}))
        case ["always"]:
            say(session, ask(session, [ALLOW_ALWAYS], {}))
        case ["huge"]:
            say(session, ask(session, CHOICES, {"content": "x" * 40_000}))
        case ["die"]:
            send({"id": ASKED, "method": "session/request_permission", "params": {"options": CHOICES}})
            sys.exit(4)
        case ["files"]:
            send({"id": ASKED, "method": "fs/read_text_file", "params": {"sessionId": session, "path": "/etc/passwd"}})
            say(session, json.dumps(receive()["error"]["code"]))
        case ["child"]:
            child = subprocess.Popen(["sleep", "600"])
            say(session, f"{os.getpid()} {child.pid}")
        case ["hang"]:
            child = subprocess.Popen(["sleep", "600"])
            say(session, f"{os.getpid()} {child.pid}")
            time.sleep(600)
        case ["crash"]:
            sys.stderr.write("x" * 100_000 + "\nout of luck\n")
            sys.exit(3)
        case ["garbage"]:
            sys.stdout.write("Segmentation fault\n")
        case ["line"]:
            say(session, "x" * (9 * 1024 * 1024))
        case ["flood"]:
            for _ in range(11):
                say(session, "x" * 100_000)


def answer(message: dict[str, Any], times: dict[str, int]) -> dict[str, Any] | None:
    params = message.get("params", {})
    match message["method"]:
        case "initialize":
            shows = {"image": "--images" in OPTIONS}
            able = {"loadSession": "--load" in OPTIONS, "promptCapabilities": shows}
            methods = [{"id": "key", "name": "API key"}]
            version = int(option("--version") or 1)
            return {"protocolVersion": version, "agentCapabilities": able, "authMethods": methods}
        case "authenticate":
            return {}
        case "session/new":
            return {"sessionId": f"s{os.getpid()}"}
        case "session/load":
            say(params["sessionId"], "What was said before.")
            return {}
        case "session/prompt":
            session = params["sessionId"]
            times[session] = times.get(session, 0) + 1
            texts = [block.get("text", block["type"]) for block in params["prompt"]]
            do(session, " ".join(texts).split(), times[session])
            if texts[0].startswith("show"):
                say(session, "|".join(texts))
            return {"stopReason": "end_turn"}
    return None


def main() -> None:
    if "--exit" in OPTIONS:
        sys.stderr.write("no licence\n")
        sys.exit(2)
    if "--garbage" in OPTIONS:
        sys.stdout.write("Welcome!\n")
    times: dict[str, int] = {}
    while True:
        message = receive()
        if message["method"] == "session/new" and "--signed-out" in OPTIONS:
            send({"id": message["id"], "error": {"code": -32000, "message": "Authentication required"}})
            continue
        send({"id": message["id"], "result": answer(message, times)})


main()
