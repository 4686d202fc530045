"""litellm in its own thread, with its own event loop.

Importing it takes seconds, its first call nearly two more, and much of what it does between is not made for a shared
event loop. There, it can take its time.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import importlib.util
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

from hub.core.errors import Unavailable
from hub.core.extras import install_command
from integrations.models.litellm.bounded_answers import bound_answers

LOAD_LIMIT_S = 120.0
STOP_LIMIT_S = 2.0
WIND_UP_LIMIT_S = 0.5
PACKAGE = "litellm"
# Read when litellm is imported: its own price list instead of one from the network, no .env file of whatever
# directory the hub was started in.
ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_DISABLE_BUG_REPORT_LINK": "True",
}

T = TypeVar("T")
_log = logging.getLogger(__name__)
_END = object()


class LitellmLibrary:
    """Loads litellm once, on first use, and runs what needs it.

    Args:
        on_loaded: Called in the hub's event loop when it is loaded.
    """

    def __init__(self, on_loaded: Callable[[], None]) -> None:
        self._on_loaded = on_loaded
        self._users = 0
        self._thread: threading.Thread | None = None
        self._ready: concurrent.futures.Future[tuple[Any, asyncio.AbstractEventLoop]] = concurrent.futures.Future()

    @property
    def module(self) -> Any | None:
        """The module, once it is loaded."""
        if self._ready.done() and self._ready.exception() is None:
            return self._ready.result()[0]
        return None

    def acquire(self) -> None:
        """Count a provider that uses it."""
        self._users += 1

    async def release(self) -> None:
        """Count it off; the last one stops the thread."""
        self._users -= 1
        if self._users > 0 or self._thread is None:
            return
        thread, ready = self._thread, self._ready
        self._thread, self._ready = None, concurrent.futures.Future()
        loading = not ready.done()
        ready.add_done_callback(_stop)
        if not loading:
            await asyncio.to_thread(thread.join, STOP_LIMIT_S)

    async def load(self) -> tuple[Any, asyncio.AbstractEventLoop]:
        """Return the module and its event loop, loading it in its thread if that was not done.

        Raises:
            Unavailable: It is not installed, or cannot be imported.
        """
        if self._thread is None:
            if importlib.util.find_spec(PACKAGE) is None:
                raise Unavailable(f"litellm is not installed. Install it with: {install_command(PACKAGE)}")
            hub_loop = asyncio.get_running_loop()
            ready = self._ready = concurrent.futures.Future()
            ready.add_done_callback(lambda done: _tell(hub_loop, done, self._on_loaded))
            self._thread = threading.Thread(target=_main, args=(ready,), name=PACKAGE, daemon=True)
            self._thread.start()
        try:
            async with asyncio.timeout(LOAD_LIMIT_S):
                return await asyncio.shield(asyncio.wrap_future(self._ready))
        except TimeoutError as error:
            raise Unavailable(f"litellm was not loaded within {LOAD_LIMIT_S:g} s.", retry_after_s=30) from error
        except ImportError as error:
            self._thread = None
            raise Unavailable(
                f"litellm cannot be imported ({error}). Install it again with: {install_command(PACKAGE)}"
            ) from error

    async def stream(self, start: Callable[[Any], AsyncIterator[T]]) -> AsyncIterator[T]:
        """Run `start(litellm)` in the library's loop and yield here what it yields there.

        Closing or cancelling it cancels the work there.
        """
        module, loop = await self.load()
        here = asyncio.get_running_loop()
        arrived: asyncio.Queue[Any] = asyncio.Queue()

        def hand_over(item: Any) -> None:
            # The hub's loop may be gone by the time something arrives.
            with contextlib.suppress(RuntimeError):
                here.call_soon_threadsafe(arrived.put_nowait, item)

        async def pump() -> None:
            try:
                async for item in start(module):
                    hand_over(item)
            except Exception as error:  # it is raised again on the other side
                hand_over(_Raised(error))
            finally:
                hand_over(_END)

        work = asyncio.run_coroutine_threadsafe(pump(), loop)
        try:
            while (item := await arrived.get()) is not _END:
                if isinstance(item, _Raised):
                    raise item.error
                yield item
        finally:
            work.cancel()


class _Raised:
    """An exception on its way to the other thread."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


def _stop(ready: concurrent.futures.Future[tuple[Any, asyncio.AbstractEventLoop]]) -> None:
    """End the thread's loop, as soon as it has one."""
    if ready.exception() is None:
        loop = ready.result()[1]
        loop.call_soon_threadsafe(loop.stop)


def _main(ready: concurrent.futures.Future[tuple[Any, asyncio.AbstractEventLoop]]) -> None:
    """The thread: import, then serve until stopped."""
    loop = asyncio.new_event_loop()
    try:
        with _no_collection():
            module = import_litellm()
            loop.run_until_complete(_rehearse(module))
    except Exception as error:  # whatever its import raises is passed to those who wait
        loop.close()
        ready.set_exception(error if isinstance(error, ImportError) else ImportError(repr(error)))
        return
    ready.set_result((module, loop))
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(_wind_up(module))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector still, and then away from the million objects that came: each of its full rounds
    would hold up the hub for a tenth of a second, in this thread or in any other.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


async def _rehearse(litellm: Any) -> None:
    """Go through a call without network: the first one imports much of litellm."""
    stream = await litellm.acompletion(
        model="openai/gpt-4o-mini",
        messages=[{"role": "user", "content": "hello"}],
        mock_response="hello",
        stream=True,
        api_key="none",
    )
    async for _ in stream:
        pass


def import_litellm() -> Any:
    """Import litellm and settle how it behaves; takes seconds, and blocks."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import litellm

    bound_answers()
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = True
    # Usage is what the vendor tells, not what a tokenizer guesses; loading one holds up every thread.
    litellm.disable_token_counter = True
    # Proxies of the environment are not for keys: nobody configured them for us.
    litellm.disable_aiohttp_trust_env = True
    for logger in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    return litellm


async def _wind_up(module: Any) -> None:
    """End what still runs and close connections, without waiting long for either."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=WIND_UP_LIMIT_S)
    try:
        async with asyncio.timeout(WIND_UP_LIMIT_S):
            await module.close_litellm_async_clients()
    except Exception as error:  # the thread ends either way
        _log.debug("litellm's connections: %r", error)


def _tell(
    hub_loop: asyncio.AbstractEventLoop, done: concurrent.futures.Future[Any], on_loaded: Callable[[], None]
) -> None:
    if done.cancelled() or done.exception() is not None:
        return
    _log.debug("litellm is loaded")
    with contextlib.suppress(RuntimeError):
        hub_loop.call_soon_threadsafe(on_loaded)
