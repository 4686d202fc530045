"""A step's service call: its data, its response, its child run, and the guarantee that it is made once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import StepRun
from hub.automation.running.signals import Interrupted, ScriptStopped, UnknownService
from hub.core.errors import InvalidRequest
from hub.core.services import TAINTED, ResponseMode, Service

CALL_LIMIT_S = 86_400.0
"""A service that a run waits for may take a day; a run that should take less says `timeout`."""


async def call_service(
    run: StepRun, name: str, data: Mapping[str, Any], path: str, response_variable: str | None
) -> None:
    """Call a service on behalf of a run and assign its response.

    Args:
        name: `domain.service`.
        data: Its data, rendered.
        path: The path of the step.
        response_variable: The variable for its response; None for none.

    Raises:
        Interrupted: The hub stopped in the middle of this very call, and it cannot be repeated.
        HubError: Whatever the service said.
    """
    domain, _, service_name = name.partition(".")
    if run.dry is not None:
        _call_dry(run, name, data, path, response_variable)
        return
    service = run.parts.services.get(domain, service_name)
    if service is None:
        raise UnknownService(f"there is no service {name}", details={"service": name})
    wants_response = response_variable is not None
    if response_variable is None and service.response is ResponseMode.ONLY:
        raise InvalidRequest(f"the service {name} only returns a response; set response_variable")
    key = None
    if run.is_kept or service.idempotent:
        key = await _begin(run, service, path)
    notes: dict[str, Any] = {}
    try:
        answer = await run.parts.services.call(
            domain,
            service_name,
            data,
            context=run.context,
            wants_response=wants_response,
            timeout_s=CALL_LIMIT_S,
            idempotency_key=key,
            notes=notes,
            quoted=True,
        )
    except ScriptStopped as stopped:
        answer = None
        run.tell(stopped=stopped.message)
    finally:
        if notes:
            _tell_child(run, notes)
    if response_variable is not None:
        if service.open_world or notes.get(TAINTED):
            run.taint()
        run.assign(response_variable, answer if answer is not None else {})


async def _begin(run: StepRun, service: Service, path: str) -> str | None:
    """Record that the call is about to be made; return its idempotency key if the service takes one."""
    counts = run.position.counts
    begun = run.resume(path)
    if begun is None:
        counts[path] = count = counts.get(path, 0) + 1
        await run.save(path, {"call": service.id, "count": count})
    elif not service.idempotent:
        run.note(path, None)
        raise Interrupted(
            f"the hub stopped while the service {service.id} was called; whether it did its work is not known, "
            "so it was not called again",
            details={"service": service.id},
        )
    return f"{run.id}:{path}:{counts[path]}" if service.idempotent else None


def _call_dry(run: StepRun, name: str, data: Mapping[str, Any], path: str, response_variable: str | None) -> None:
    if run.dry is not None:
        run.dry.call(path, name, data)
    run.tell(dry=True)
    if response_variable is not None:
        run.assign(response_variable, {})


def _tell_child(run: StepRun, notes: Mapping[str, Any]) -> None:
    """Record in the trace which run the service started, as noted by it or named in its response."""
    answer = notes.get("answer") or {}
    begun = answer.get("runs")
    first = begun[0] if isinstance(begun, list) and begun and isinstance(begun[0], Mapping) else {}
    run_id = notes.get("run_id") or answer.get("run_id") or first.get("run_id")
    automation_id = notes.get("automation_id") or answer.get("automation_id") or first.get("automation")
    session_key = answer.get("session_key")
    if isinstance(run_id, str):
        run.child(
            run_id=run_id,
            automation_id=automation_id if isinstance(automation_id, str) else None,
            session_key=session_key if isinstance(session_key, str) else None,
        )
