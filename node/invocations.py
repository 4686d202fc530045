"""Invocations by the hub: commands by name, bounded concurrency, idempotent by key."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from .backends.contract import Handler
from .errors import NodeError

AT_ONCE = 16
KEPT_ANSWERS = 100
KEPT_BYTES = 1_000_000
"""A larger answer is not kept: asked again, its command is done again."""
TIMEOUT_LIMIT_S = 1_800.0

SendResult = Callable[[dict[str, Any]], Coroutine[Any, Any, None]]


class Invocations:
    """Runs invocations.

    Args:
        handlers: The handlers of all offered commands, by command.
        node_id: The id of this node.
    """

    def __init__(self, handlers: Mapping[str, Handler], node_id: str) -> None:
        self._handlers = handlers
        self._node_id = node_id
        self._running: dict[str, asyncio.Task[None]] = {}
        self._answers: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._doing: dict[str, asyncio.Future[dict[str, Any]]] = {}

    def request(self, asked: Mapping[str, Any], send: SendResult) -> None:
        """Begin an invocation, as `node.invoke.request` has it; `send` gets the parameters of `node.invoke.result`."""
        id = str(asked.get("id", ""))
        if id in self._running:
            return
        task = asyncio.get_running_loop().create_task(
            self._answer(id, asked, send), name=f"invoke {asked.get('command')}"
        )
        self._running[id] = task
        task.add_done_callback(lambda _: self._running.pop(id, None))

    def cancel(self, id: str) -> None:
        """Cancel an abandoned invocation."""
        if (task := self._running.get(id)) is not None:
            task.cancel()

    async def close(self) -> None:
        """End all of them."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _answer(self, id: str, asked: Mapping[str, Any], send: SendResult) -> None:
        key = str(asked.get("idempotencyKey") or "")
        result = self._answers.get(key) if key else None
        if result is None and key and key in self._doing:
            result = await asyncio.shield(self._doing[key])
        if result is None:
            result = await self._done_once(key, asked)
        await send({"id": id, "nodeId": self._node_id, **result})

    async def _done_once(self, key: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        doing = self._doing[key] = asyncio.get_running_loop().create_future()
        try:
            result = await self._do(asked)
        except asyncio.CancelledError:
            doing.set_result(_refused("CANCELLED", "the invocation was cancelled"))
            raise
        finally:
            self._doing.pop(key, None)
        doing.set_result(result)
        if key and len(result.get("payloadJSON", "")) <= KEPT_BYTES:
            self._answers[key] = result
            while len(self._answers) > KEPT_ANSWERS:
                self._answers.popitem(last=False)
        return result

    async def _do(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        command = str(asked.get("command", ""))
        handler = self._handlers.get(command)
        if handler is None:
            return _refused("INVALID_REQUEST", f"this node has no command {command!r:.100}")
        if len(self._running) > AT_ONCE:
            return _refused("BUSY", f"{AT_ONCE} commands are under way on this node")
        try:
            params = json.loads(asked.get("paramsJSON") or "{}")
            if not isinstance(params, dict):
                raise NodeError("INVALID_PARAMS", "paramsJSON: expected an object")
            timeout_ms = asked.get("timeoutMs")
            limit_s = (
                min(timeout_ms / 1000, TIMEOUT_LIMIT_S) if isinstance(timeout_ms, int | float) else TIMEOUT_LIMIT_S
            )
            async with asyncio.timeout(limit_s):
                answer = await handler(params)
        except NodeError as error:
            return _refused(error.code, error.message)
        except TimeoutError:
            return _refused("TIMEOUT", f"{command} took longer than {limit_s:g} s")
        except ValueError as error:
            return _refused("INVALID_PARAMS", f"paramsJSON: {error}")
        except OSError as error:
            return _refused("UNAVAILABLE", f"{command}: {error}")
        return {"ok": True, "payloadJSON": json.dumps(answer, ensure_ascii=False)}


def _refused(code: str, message: str) -> dict[str, Any]:
    return {"ok": False, "error": {"code": code, "message": message}}
