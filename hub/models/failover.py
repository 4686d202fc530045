"""What to do after a failed call: retry the model, try the next one, or give up.

The rule is `next_step`, a function without I/O; `stream_with_failover` acts on it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct

from hub.core.errors import Unavailable
from hub.models.contract import (
    AuthError,
    BillingError,
    ModelError,
    ModelEvent,
    ModelRequest,
    ModelTimeout,
    Overloaded,
    RateLimited,
)
from hub.models.inline_thinking import InlineThinking
from hub.models.resolved import Resolved
from hub.models.schema import DEFAULT_ATTEMPTS, DEFAULT_MAX_WAIT_S

FIRST_BACKOFF_S = 0.5
TRANSIENT = (RateLimited, Overloaded, ModelTimeout)
OF_CREDENTIAL = (RateLimited, AuthError, BillingError)
"""Errors that another credential of the same provider may not meet."""


class RetryPolicy(Struct, frozen=True):
    """Bounds on retries.

    Attributes:
        attempts: Calls of one model, the first included.
        max_wait_s: The longest wait for the same model.
    """

    attempts: int = DEFAULT_ATTEMPTS
    max_wait_s: float = DEFAULT_MAX_WAIT_S


class RetryModel(Struct, frozen=True):
    """Retry the same model after `delay_s`."""

    delay_s: float


class Next(Struct, frozen=True):
    """Call the next model at once."""


class GiveUp(Struct, frozen=True):
    """Raise the error."""


Step = RetryModel | Next | GiveUp


class Attempt(Struct, frozen=True):
    """The data passed to `on_attempt` before each call.

    Attributes:
        candidate: The model that is called now.
        number: The number of the call, from 1, over all models.
        error: Why the call before failed; None for the first.
        delay_s: How long was waited.
    """

    candidate: Resolved
    number: int
    error: ModelError | None = None
    delay_s: float = 0.0


def next_step(
    error: ModelError,
    *,
    attempt: int,
    others_left: bool,
    policy: RetryPolicy,
    jitter: float,
    other_credential: bool = False,
) -> Step:
    """Decide what to do after a call that failed before its first event.

    Args:
        error: How it failed.
        attempt: Which call of this model it was, from 1.
        others_left: Whether there is another model or credential to try.
        other_credential: Whether the next one is the same model with another credential, which need not wait.
        policy: The bounds.
        jitter: 0 to 1; spreads the waits of many.
    """
    if isinstance(error, TRANSIENT) and attempt < policy.attempts and not other_credential:
        delay_s = max(error.retry_after_s or 0.0, FIRST_BACKOFF_S * 2 ** (attempt - 1) * (0.5 + jitter / 2))
        if delay_s <= policy.max_wait_s:
            return RetryModel(delay_s)
    if error.try_fallback and others_left:
        return Next()
    return GiveUp()


async def stream_with_failover(
    candidates: Sequence[Resolved],
    request_for: Callable[[Resolved], ModelRequest],
    *,
    policy: RetryPolicy | None = None,
    on_attempt: Callable[[Attempt], None] | None = None,
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
) -> AsyncIterator[ModelEvent]:
    """Stream the first model that answers; thinking written between tags becomes thinking events.

    Args:
        candidates: In the order in which they are tried; at least one.
        request_for: Makes the request for a model (its id, window and abilities differ).
        policy: Bounds on repetition.
        on_attempt: Called before each call with the model, and the reason why the one before failed.
        sleep: Waits seconds.
        jitter: 0 to 1.

    Raises:
        ModelError: All failed: the first model's last error, with the others in `details.attempts`. Or the stream
            broke after events had been passed on: then nothing is repeated.
        Unavailable: There is no candidate.

    Closing or cancelling it ends the active call.
    """
    if not candidates:
        raise Unavailable("There is no model to call; add one under models.providers, or set models.default.")
    policy = policy or RetryPolicy()
    failed: list[tuple[Resolved, ModelError]] = []
    error: ModelError | None = None
    waiting = list(candidates)
    delay_s, number, attempt = 0.0, 0, 0
    while True:
        candidate = waiting[0]
        attempt += 1
        number += 1
        if on_attempt is not None:
            on_attempt(Attempt(candidate, number, error, delay_s))
        begun = False
        request = request_for(candidate)
        thinking = InlineThinking(final_tags=request.final_tags)
        events = candidate.provider.stream(request)
        try:
            async for event in events:
                begun = True
                for told in thinking.add(event):
                    yield told
            for told in thinking.end():
                yield told
            return
        except ModelError as caught:
            if begun:
                raise
            error = caught
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()
        others = [each for each in waiting[1:] if isinstance(error, OF_CREDENTIAL) or each.ref != candidate.ref]
        step = next_step(
            error,
            attempt=policy.attempts if candidate.rests and others else attempt,
            others_left=bool(others),
            policy=policy,
            jitter=jitter(),
            other_credential=bool(others) and others[0].ref == candidate.ref,
        )
        delay_s = 0.0
        match step:
            case RetryModel(delay_s):
                await sleep(delay_s)
            case Next():
                failed.append((candidate, error))
                waiting, attempt = others, 0
            case GiveUp():
                raise _all_failed([*failed, (candidate, error)])


def _all_failed(failed: list[tuple[Resolved, ModelError]]) -> ModelError:
    """Return the error of the first-choice model, with the failures of the others."""
    error = failed[0][1]
    if len(failed) == 1:
        return error
    others = "; ".join(f"{other.label}: {why.message}" for other, why in failed[1:])
    told = type(error)(
        f"{error.message} The fallbacks failed too: {others}",
        details={
            **error.details,
            "attempts": [
                {"model": candidate.label, "code": why.code, "message": why.message} for candidate, why in failed
            ],
        },
        retry_after_s=error.retry_after_s,
    )
    told.__cause__ = error
    return told
