"""The running hub, if any: whether it answers, and its problems; else the leftovers of a dead one."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from hub.core.errors import HubError
from hub.core.repairs import Severity
from hub.doctor.check_context import CheckContext
from hub.doctor.finding import Check, Finding, critical, error, warning
from hub.security.unverified_tls import unverified_tls
from hub.storage.instance_lock import READ_LIMIT_BYTES, Running

ANSWER_LIMIT_S = 5.0
STARTING_LIMIT_S = 60.0
_READY = "/readyz"
_CONFIGURATION = "config"


def _lock(context: CheckContext) -> Iterator[Finding]:
    """Report a lock that a killed hub left behind."""
    path = context.home.lock
    if context.running is not None or not path.exists():
        return
    with path.open("rb") as file:
        left = file.read(READ_LIMIT_BYTES).strip(b"\0 \n")
    if not left:
        return
    try:
        pid = json.loads(left)["pid"]
    except (ValueError, KeyError, TypeError):
        yield warning("The lock was not written by a hub; the next start rewrites it.", str(path))
        return
    yield warning(
        f"The last hub (process {pid}) ended without stopping. Nothing it acknowledged is lost: the next start goes on "
        "from there.",
        str(path),
        context.command("start"),
    )


def _running(context: CheckContext) -> Iterator[Finding]:
    running = context.running
    if running is None:
        return
    if running.port is None:
        if time.time() - running.started > STARTING_LIMIT_S:
            yield error(f"The hub (process {running.pid}) has been starting for a while. Its log says why.")
        return
    problem = _unready(running)
    if problem is not None:
        yield critical(
            f"The hub (process {running.pid}) does not answer: {problem}.", str(running.address), f"kill {running.pid}"
        )
        return
    try:
        status = context.ask("status")
    except HubError as refused:
        yield error(f"The hub answers but does not report its state: {refused.message}", str(running.address))
        return
    if status.get("state") == "recovery":
        yield critical(
            "The hub is in recovery mode: the dashboard and its editor work, nothing else runs.",
            str(running.address),
            context.command("check"),
        )
    for each in status.get("waiting") or ():
        if not each["stuck"]:  # else a repair says so
            yield warning(
                f"{each['count']} messages wait for {each['channel']} ({each['account']}): {each['why']}",
                "outbox",
                context.command("outbox list --state queued"),
            )
    for repair in status.get("repairs") or ():
        if repair.get("source") != _CONFIGURATION or not repair.get("location"):  # else found in the files already
            yield _repair(repair)


def _unready(running: Running) -> str | None:
    """Return why the hub is not ready, or None."""
    kind = http.client.HTTPSConnection if running.tls else http.client.HTTPConnection
    options: dict[str, Any] = {"timeout": ANSWER_LIMIT_S}
    if running.tls:
        options["context"] = unverified_tls()
    address = str(running.address).partition("://")[2]
    connection = kind(address, **options)
    try:
        connection.request("GET", _READY)
        status = connection.getresponse().status
    except TimeoutError:
        return f"nothing within {ANSWER_LIMIT_S:g} s"
    except (OSError, http.client.HTTPException) as problem:
        return str(problem) or type(problem).__name__
    finally:
        connection.close()
    return None if status == 200 else f"it is not ready (HTTP {status})"


def _repair(repair: Mapping[str, Any]) -> Finding:
    try:
        severity = Severity(repair.get("severity", "error"))
    except ValueError:
        severity = Severity.ERROR
    place = repair.get("location") or {}
    where = f"{place['file']}:{place.get('line', 1)}" if "file" in place else str(repair.get("source") or "")
    told = ": ".join(part for part in (str(repair.get("title") or ""), str(repair.get("text") or "")) if part)
    return Finding(severity, told, where, str(repair.get("command") or ""))


LOCK = Check("lock", "The lock on the home directory", _lock)
RUNNING = Check("running", "The running hub", _running)
