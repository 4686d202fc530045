"""A program of this machine that speaks: text on its standard input, a recording on its standard output. No shell."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence

from hub.core.errors import LimitExceeded, TimedOut, Unavailable
from hub.models.speech import AUDIO_LIMIT_BYTES, audio_kind

LIMIT_S = 60.0
VOICE_PLACE = "{voice}"
"""What the name of the voice takes the place of, in an argument."""
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
"""All that the program sees of the hub's environment."""
ERROR_CHARS = 300
_READ_BYTES = 65_536
_CHUNKS_AT = 12
_CHUNK_HEAD_BYTES = 8


async def speak_by_program(
    command: Sequence[str],
    text: str,
    voice: str,
    *,
    timeout_s: float = LIMIT_S,
    limit_bytes: int = AUDIO_LIMIT_BYTES,
) -> bytes:
    """Return the recording that a program makes of a text. Cancelling it ends the program with all it started.

    Args:
        command: Program and arguments; `{voice}` in them is the voice.

    Raises:
        Unavailable: The program cannot be started, failed, or made no recording.
        TimedOut: It took too long.
        LimitExceeded: The recording is too large.
    """
    name = command[0]
    try:
        process = await asyncio.create_subprocess_exec(
            *(each.replace(VOICE_PLACE, voice) for each in command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={each: os.environ[each] for each in INHERITED if each in os.environ},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise Unavailable(f"speech.command: {name} cannot be started: {error}") from error
    errors = asyncio.create_task(_last(process.stderr), name="read what a program that speaks complains of")
    try:
        async with asyncio.timeout(timeout_s):
            if process.stdin is not None:
                process.stdin.write(text.encode("utf-8", "replace"))
                process.stdin.close()
            data = await _all(process.stdout, limit_bytes)
            said, code = await errors, await process.wait()
    except TimeoutError as error:
        raise TimedOut(f"speech.command: {name} took longer than {timeout_s:g} s") from error
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        errors.cancel()
        await asyncio.wait({errors})
        await process.wait()
    if code != 0:
        raise Unavailable(f"speech.command: {name} failed with exit code {code}: {said or 'it did not say why'}")
    if audio_kind(data) is None:
        raise Unavailable(f"speech.command: {name} wrote no recording (OGG, MP3, WAV or FLAC) to its standard output")
    return with_sizes(data)


def with_sizes(data: bytes) -> bytes:
    """Return a recording with its sizes filled in, which a program writing WAV to a pipe does not know at first.

    The format is that of RIFF: chunks of four letters, a size in little-endian, and that many bytes.
    """
    if not data.startswith(b"RIFF"):
        return data
    whole, at = bytearray(data), _CHUNKS_AT
    while at + _CHUNK_HEAD_BYTES <= len(data):
        size = int.from_bytes(data[at + 4 : at + _CHUNK_HEAD_BYTES], "little")
        left = len(data) - at - _CHUNK_HEAD_BYTES
        if size > left:
            whole[4:8] = (len(data) - 8).to_bytes(4, "little")
            whole[at + 4 : at + 8] = left.to_bytes(4, "little")
            break
        at += _CHUNK_HEAD_BYTES + size + size % 2
    return bytes(whole)


async def _all(stream: asyncio.StreamReader | None, limit_bytes: int) -> bytes:
    data = bytearray()
    while stream is not None and (chunk := await stream.read(_READ_BYTES)):
        data += chunk
        if len(data) > limit_bytes:
            raise LimitExceeded(f"speech.command: the recording is larger than {limit_bytes:,} bytes")
    return bytes(data)


async def _last(stream: asyncio.StreamReader | None) -> str:
    """Return the last words of a stream, on one line."""
    data = b""
    while stream is not None and (chunk := await stream.read(_READ_BYTES)):
        data = (data + chunk)[-_READ_BYTES:]
    return " ".join(data.decode("utf-8", "replace").split())[-ERROR_CHARS:]
