"""A Chromium in an agent's sandbox, whose pipe of the DevTools protocol is its input and output."""

from __future__ import annotations

from collections.abc import AsyncIterator

from hub.sandbox.contract import WORKSPACE, Sandbox, SandboxCommand, SandboxProcess
from hub.sandbox.network import PORT
from integrations.tools.browser.cdp_socket import MESSAGE_LIMIT_BYTES
from integrations.tools.browser.chromium import CLOSED, NAMES, VIEWPORT

NOT_FOUND = 127
_START = (
    'for name in $1; do found=$(command -v "$name") && break; done; [ -n "$found" ] || exit 127; shift; '
    '{ "$found" "$@" 3<&0 4>&5 5>&- </dev/null 2>&1 >/dev/null | tail -c 300; } 5>&1'
)


class BoxedChromium:
    """One running browser; on its pipe each message ends with a NUL.

    Args:
        process: The browser.
    """

    def __init__(self, process: SandboxProcess) -> None:
        self._process = process
        self._last_words = ""

    @classmethod
    async def start(cls, sandbox: Sandbox, executable: str | None = None) -> BoxedChromium:
        """Start it in a sandbox.

        Args:
            executable: The executable as configured; another is taken where there is none with that name inside.

        Raises:
            Unavailable: The engine fails.
        """
        names = [executable, *NAMES] if executable is not None else NAMES
        command = (
            *("sh", "-c", _START, "sh", " ".join(names), "--headless", "--no-sandbox", "--remote-debugging-pipe"),
            *(f"--user-data-dir={WORKSPACE}/profile", f"--window-size={VIEWPORT['width']},{VIEWPORT['height']}"),
            *(f"--proxy-server=http://127.0.0.1:{PORT}", "--proxy-bypass-list=<-loopback>", *CLOSED),
        )
        return cls(await sandbox.start(SandboxCommand(command)))

    async def send(self, message: str) -> None:
        """Send it a message."""
        await self._process.stdin.write(message.encode() + b"\0")

    async def messages(self) -> AsyncIterator[str]:
        """Yield its messages; one that is too large is the last."""
        parts: list[bytes] = []
        async for chunk in self._process.output:
            *ends, rest = chunk.split(b"\0")
            for end in ends:
                yield b"".join([*parts, end]).decode("utf-8", "replace")
                parts = []
            parts.append(rest)
            if sum(map(len, parts)) > MESSAGE_LIMIT_BYTES:
                return
        self._last_words = b"".join(parts).decode("utf-8", "replace").strip()

    async def close(self) -> str:
        """Stop it."""
        await self._process.kill()
        if await self._process.wait() != NOT_FOUND:
            return self._last_words and f"the browser in the sandbox ended: {self._last_words}"
        return (
            f"there is none of {', '.join(NAMES)} in the sandbox. bubblewrap has the programs of this machine; for "
            "Docker, name an image with one in agents[].sandbox.docker.image"
        )
