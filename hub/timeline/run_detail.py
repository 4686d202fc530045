"""An agent's run whole: from the message to the reply. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hub.core.phrases import phrase
from hub.security.people import People
from hub.timeline.detail import Detail, Lane, Step
from hub.timeline.happening import Happening, Outcome, first_line
from hub.timeline.hub_sources import data_of
from hub.timeline.words import about_call, join_values, tool_kind, tool_sentence

Plain = Mapping[str, Any]
SENT_BAD = frozenset({"dead", "unknown", "stopped"})


def run_detail(
    row: Happening, run: Plain, steps: Sequence[Plain], prompt: Plain | None, people: People, *, is_owner: bool
) -> Detail:
    """Return a run as one happening.

    Args:
        row: Its row.
        run: Its row of the database, as a client of `runs.get` sees it.
        steps: The steps of `hub.agent.runs.run_timeline`.
        prompt: What every call is sent before the conversation: tokens, characters, tools.
        people: The people of this home, for their names.
        is_owner: Whether the reader may put it to another model.
    """
    asker = people.by_id(row.person or "")
    told = list(_steps(steps, asker.name if asker is not None else None, people, row.pictures))
    models = [each for each in steps if each["kind"] == "model"]
    usage = run["usage"] or {}
    actions: list[Mapping[str, Any]] = [_action("download", "runs.get", {"runId": row.run_id})]
    if is_owner and row.outcome not in (Outcome.RUNNING, Outcome.WAITING):
        actions.insert(0, _action("ask_another_model", "runs.replay", {"runId": row.run_id}))
        if row.session_key is not None and (words := next((s.get("text") for s in steps if s.get("text")), "")):
            again = {"sessionKey": row.session_key, "message": words}
            actions.insert(0, _action("run_again", "chat.send", again))
    return Detail(
        row,
        facts={
            "durationMs": row.duration_ms,
            "model": row.model,
            "tokens": usage.get("total_tokens"),
            "tokensIn": _sum(usage, "input", "cache_read", "cache_write"),
            "tokensOut": _sum(usage, "output"),
            "costUsd": usage.get("cost_usd"),
            "bytesSent": _bytes(models),
            "modelCalls": len(models),
            "toolCalls": sum(each["kind"] == "tool" for each in steps),
            "promptTokens": (prompt or {}).get("tokens"),
            "toolsOffered": (prompt or {}).get("tools"),
        },
        lanes=list(_lanes(told, steps)),
        steps=[step for step, _ in told],
        actions=actions,
        trace={"method": "runs.get", "runId": row.run_id or ""},
    )


def _steps(
    steps: Sequence[Plain], name: str | None, people: People, pictures: Sequence[Plain]
) -> Iterator[tuple[Step, Plain]]:
    for each in steps:
        match each["kind"]:
            case "received":
                yield _received(each, name), each
            case "model":
                for failed in each["failed"]:
                    yield _failed(each, failed), {}
                yield _model(each), each
            case "tool":
                yield _tool(each, pictures), each
            case "approval":
                title = phrase("Asked about {what}", what=each["title"])
                tone = "good" if each["state"] == "approved" else "bad"
                data = {"state": each["state"], "by": each["by"] and people.name_of(each["by"])}
                reason = each["reason"] or None
                waited = each["waitedMs"]
                yield Step(each["at"], "approval", title, reason, duration_ms=waited, tone=tone, data=data), each
            case "steered":
                yield Step(each["at"], "message", phrase("Another message came in"), each.get("text")), each
            case "compaction":
                told = phrase("The conversation was summarised to make room")
                data = {"before": each.get("tokensBefore"), "after": each.get("tokensAfter")}
                yield Step(each["at"], "note", told, duration_ms=each.get("durationMs"), data=data), each
            case "sent":
                yield _sent(each), each


def _received(step: Plain, name: str | None) -> Step:
    channel = step.get("channel")
    title = phrase("Message on {channel}", channel=channel) if channel else phrase("It was asked")
    if channel and name:
        title = phrase("Message from {name} on {channel}", name=name, channel=channel)
    data = {"text": step.get("text"), "account": step.get("account"), "from": step.get("from")}
    return Step(step["at"], "message", title, first_line(step.get("text") or "") or None, icon=channel, data=data)


def _failed(step: Plain, failed: Plain) -> Step:
    title = phrase("{model} did not answer", model=failed["model"])
    data = {"model": failed["model"], "code": failed.get("code"), "waitedMs": failed.get("waited_ms")}
    return Step(step["at"], "model", title, failed.get("message") or failed.get("code"), tone="bad", data=data)


def _model(step: Plain) -> Step:
    usage, calls = step.get("usage") or {}, step.get("calls") or []
    if step.get("error"):
        title: str = phrase("The model did not answer")
    elif calls:
        title = phrase("The model decided to use {tools}", tools=join_values([*dict.fromkeys(calls)]))
    elif step.get("durationMs") is None and not step.get("text"):
        title = phrase("The model is at work")
    else:
        title = phrase("The model wrote the answer")
    data = {
        "model": step["model"],
        "text": step.get("text"),
        "calls": calls or None,
        "firstMs": step.get("firstMs"),
        "tokensIn": _sum(usage, "input", "cache_read", "cache_write") if usage else None,
        "tokensOut": _sum(usage, "output") if usage else None,
        "promptTokens": step.get("promptTokens"),
        "bytesSent": step.get("sentBytes"),
        "error": step.get("error"),
    }
    return Step(
        step["at"],
        "model",
        title,
        first_line(step.get("text") or "") or step.get("error"),
        duration_ms=step.get("durationMs"),
        tokens=usage.get("total_tokens"),
        cost_usd=usage.get("cost_usd"),
        tone="bad" if step.get("error") else None,
        data=data,
    )


def _tool(step: Plain, pictures: Sequence[Plain]) -> Step:
    name, arguments = step["name"] or "", data_of(step.get("input"))
    approval = step.get("approval")
    refused = approval is not None and approval["state"] in ("denied", "expired", "cancelled")
    title = tool_sentence(name, arguments)
    if refused:
        title = phrase("Not done: {what}", what=about_call(arguments) or name)
    detail = (approval or {}).get("reason") if refused else first_line(step.get("output") or "")
    data = {"tool": name, "arguments": step.get("input"), "result": step.get("output"), "approval": approval}
    seen = [number for number, each in enumerate(pictures) if each["file"] in (step.get("output") or "")]
    data["pictures"] = seen or None
    return Step(
        step["at"],
        "tool",
        title,
        detail or None,
        icon=tool_kind(name),
        duration_ms=step.get("durationMs"),
        tone="bad" if refused or step.get("isError") else None,
        data=data,
    )


def _sent(step: Plain) -> Step:
    title = phrase("Sent to {channel}", channel=step["channel"])
    if step["state"] in SENT_BAD:
        title = phrase("Not delivered to {channel}", channel=step["channel"])
    data = {name: step.get(name) for name in ("account", "to", "what", "state", "attempts", "text")}
    tone = "bad" if step["state"] in SENT_BAD else "good" if step["state"] == "sent" else None
    detail = step.get("error") or first_line(step.get("text") or "")
    return Step(
        step["at"], "send", title, detail or None, step["channel"], step.get("durationMs"), tone=tone, data=data
    )


def _lanes(told: Sequence[tuple[Step, Plain]], steps: Sequence[Plain]) -> Iterator[Lane]:
    for each in steps:
        if each["kind"] == "queued" and each["durationMs"]:
            yield Lane(phrase("Queue"), "queue", each["at"], each["durationMs"])
    for index, (step, each) in enumerate(told):
        if step.duration_ms is None or not each:
            continue
        match step.kind:
            case "model":
                label: str = phrase("Model")
            case "send":
                label = phrase("Sending")
            case "tool":
                label = str(each["name"])
            case "approval":
                label = phrase("Approval")
            case _:
                label = phrase("Making room")
        yield Lane(label, step.kind, step.at_ms, step.duration_ms, step.tokens, index)


def _action(do: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"do": do, "method": method, "params": dict(params)}


def _sum(usage: Plain, *names: str) -> int:
    return sum(int(usage.get(f"{name}_tokens") or 0) for name in names)


def _bytes(models: Sequence[Plain]) -> int | None:
    sent = [each["sentBytes"] for each in models if each.get("sentBytes")]
    return sum(sent) if sent else None
