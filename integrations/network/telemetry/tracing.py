"""Spans of messages, runs, model calls and tools, by the semantic conventions for generative AI.

They are made of events, so that what happens is never held up by being traced. Names of conversations hold addresses of
people, so a trace has their hashes.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from msgspec import Struct
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode

from hub import __version__
from hub.core.events import Event

TRACES_PATH = "/v1/traces"
KEPT = 500
"""Messages, and runs, that are remembered for what follows them."""
TEXT_LIMIT = 10_000
REPLY_WAIT_S = 60.0
"""A message's span ends so long after its run at the latest, whether or not a reply was sent."""
CLOSE_LIMIT_S = 3.0

Listener = Callable[[Event], None]
Redact = Callable[[str], str]


class _Message(Struct):
    """A message that was received, as far as its trace needs it."""

    at_s: float
    channel: str
    text: str


class _Run(Struct):
    """The spans of a run."""

    root: Span | None
    invoke: Span
    queued_s: float
    text: str
    reply: str = ""
    usage: Mapping[str, Any] = {}
    sent_s: float | None = None
    timer: asyncio.TimerHandle | None = None


def provider(endpoint: str | None, headers: Mapping[str, str]) -> TracerProvider:
    """Return what exports spans to a collector; without an address, to where the OTEL_* variables say."""
    if endpoint is not None and not endpoint.endswith(TRACES_PATH):
        endpoint = endpoint.rstrip("/") + TRACES_PATH
    named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "homarus"}
    made = TracerProvider(resource=Resource.create({**named, "service.version": __version__}), shutdown_on_exit=False)
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, headers=dict(headers) or None)))
    return made


class Traces:
    """Makes spans of the hub's events.

    Args:
        provider: Exports the spans.
        redact: Removes secrets.
        content: Whether the words of messages and answers are in the spans.
    """

    def __init__(self, provider: TracerProvider, redact: Redact, *, content: bool) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("homarus", __version__)
        self._redact = redact
        self._content = content
        self._messages: OrderedDict[str, _Message] = OrderedDict()
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._by_context: OrderedDict[str, Span] = OrderedDict()

    def listeners(self) -> dict[str, Listener]:
        """Return what is to be called with each event, by its type."""
        return {
            "message_received": self._received,
            "run_queued": self._queued,
            "run_started": self._started,
            "run_finished": self._finished,
            "run_traced": self._traced,
            "message_sent": self._sent,
            "message_dead": self._sent,
            "message_unknown": self._sent,
        }

    async def close(self) -> None:
        """End what is open, and send what was not sent yet."""
        for run in self._runs.values():
            self._end(run)
        await asyncio.to_thread(self._provider.force_flush, int(CLOSE_LIMIT_S * 1_000))
        await asyncio.to_thread(self._provider.shutdown)

    def _received(self, event: Event) -> None:
        data = event.data
        _keep(self._messages, event.context.id, _Message(event.time_fired, data["channel"], data["text"]))

    def _queued(self, event: Event) -> None:
        data, context = event.data, event.context
        causes = [each for each in (context.id, context.parent_id, *reversed(context.chain)) if each is not None]
        message = next((self._messages[each] for each in causes if each in self._messages), None)
        above = next((self._by_context[each] for each in causes if each in self._by_context), None)
        root = None
        if message is not None and above is None:
            root = above = self._span(
                f"process {message.channel}",
                {"messaging.operation.name": "process", "messaging.system": message.channel},
                None,
                message.at_s,
                SpanKind.CONSUMER,
            )
        invoke = self._span(
            f"invoke_agent {data['agent_id']}",
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.id": data["agent_id"],
                "gen_ai.conversation.id": sha256(data["session_key"].encode()).hexdigest()[:32],
                "homarus.run.id": data["run_id"],
            },
            above,
            event.time_fired,
        )
        text = message.text if message is not None else ""
        dropped = _keep(self._runs, data["run_id"], _Run(root, invoke, event.time_fired, text))
        if dropped is not None:
            self._end(dropped)
        _keep(self._by_context, context.id, invoke)

    def _started(self, event: Event) -> None:
        if (run := self._runs.get(event.data["run_id"])) is not None:
            self._span("queue", {}, run.invoke, run.queued_s).end(_ns(event.time_fired))

    def _finished(self, event: Event) -> None:
        if (run := self._runs.get(event.data["run_id"])) is not None:
            run.reply, run.usage = event.data["reply"] or "", event.data["usage"]

    def _traced(self, event: Event) -> None:
        run = self._runs.get(event.data["run_id"])
        if run is None:
            return
        for step in event.data["steps"]:
            if step["kind"] in ("model", "tool"):
                self._step(step, run.invoke, event.time_fired)
        invoke = run.invoke
        invoke.set_attributes(_usage(run.usage))
        if self._content:
            invoke.set_attribute("gen_ai.input.messages", self._said("user", run.text))
            invoke.set_attribute("gen_ai.output.messages", self._said("assistant", run.reply))
        if event.data["error"] is not None:
            _fail(invoke, event.data["error"]["code"])
        invoke.end(_ns(event.time_fired))
        if run.sent_s is not None:
            self._end(run, run.sent_s)
        elif run.root is not None:
            run.timer = asyncio.get_running_loop().call_later(REPLY_WAIT_S, self._end, run)

    def _step(self, step: Mapping[str, Any], parent: Span, now_s: float) -> None:
        begun_s = step["at_ms"] / 1_000
        ended_s = now_s if step["duration_ms"] is None else begun_s + step["duration_ms"] / 1_000
        if step["kind"] == "tool":
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": step["name"],
                "gen_ai.tool.call.id": step["call_id"],
                "gen_ai.tool.type": "function",
            }
            span = self._span(f"execute_tool {step['name']}", attributes, parent, begun_s)
            if step["is_error"]:
                _fail(span, "tool_error")
            span.end(_ns(ended_s))
            return
        vendor, _, model = step["model"].partition("/")
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": vendor,
            "gen_ai.request.model": model,
            **_usage(step["usage"] or {}),
        }
        if step["first_ms"] is not None:
            attributes["gen_ai.response.time_to_first_chunk"] = step["first_ms"] / 1_000
        span = self._span(f"chat {model}", attributes, parent, begun_s, SpanKind.CLIENT)
        for attempt in step["failed"]:
            span.add_event("attempt failed", {"error.type": attempt["code"], "model": attempt["model"]})
        if step["error"]:
            _fail(span, step["error"])
        span.end(_ns(ended_s))

    def _sent(self, event: Event) -> None:
        data = event.data
        run = self._runs.get(data["run_id"] or "")
        if run is None:
            return
        channel = data["channel"]
        attributes = {"messaging.operation.name": "send", "messaging.system": channel}
        span = self._span(f"send {channel}", attributes, run.root or run.invoke, event.time_fired, SpanKind.PRODUCER)
        if event.type != "message_sent":
            _fail(span, event.type)
        span.end(_ns(event.time_fired))
        run.sent_s = event.time_fired
        if not run.invoke.is_recording():  # else what the run did is still to come
            self._end(run, run.sent_s)

    def _end(self, run: _Run, at_s: float | None = None) -> None:
        """End the spans of a run that are open."""
        if run.timer is not None:
            run.timer.cancel()
        for span in (run.invoke, run.root):
            if span is not None and span.is_recording():
                span.end(None if at_s is None else _ns(at_s))

    def _span(
        self,
        name: str,
        attributes: Mapping[str, Any],
        parent: Span | None,
        at_s: float,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        context = trace.set_span_in_context(trace.INVALID_SPAN if parent is None else parent)
        return self._tracer.start_span(name, context, kind, attributes, start_time=_ns(at_s))

    def _said(self, role: str, text: str) -> str:
        parts = [{"type": "text", "content": self._redact(text)[:TEXT_LIMIT]}]
        return json.dumps([{"role": role, "parts": parts}], ensure_ascii=False)


def _keep(known: OrderedDict[str, Any], key: str, value: Any) -> Any:
    """Remember a value; return the oldest one, when there are too many."""
    known[key] = value
    return known.popitem(last=False)[1] if len(known) > KEPT else None


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    if not usage:
        return {}
    read, written = usage["cache_read_tokens"], usage["cache_write_tokens"]
    return {
        "gen_ai.usage.input_tokens": usage["input_tokens"] + read + written,
        "gen_ai.usage.output_tokens": usage["output_tokens"],
        "gen_ai.usage.cache_read.input_tokens": read,
        "gen_ai.usage.cache_creation.input_tokens": written,
    }


def _fail(span: Span, code: str) -> None:
    span.set_attribute("error.type", code)
    span.set_status(StatusCode.ERROR)


def _ns(seconds: float) -> int:
    return int(seconds * 1_000_000_000)
