"""ffmpeg reads a stream: a process without a shell, with limits of time and bytes, that may reach the stream alone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from urllib.parse import urlsplit

from hub.core.errors import LimitExceeded, TimedOut, Unavailable
from hub.core.phrases import phrase
from hub.entities.pictures import FILM_LIMIT_BYTES, PICTURE_LIMIT_BYTES

STILL_LIMIT_S = 20.0
START_LIMIT_S = 20.0
"""How much longer than its film it may take."""
INHERITED = ("PATH", "LANG", "LC_ALL", "TMPDIR")
_PROTOCOLS = {
    "rtsp": "rtsp,rtp,udp,tcp",
    "rtsps": "rtsp,rtsps,rtp,srtp,udp,tcp,tls",
    "http": "http,tcp",
    "https": "https,http,tls,tcp",
    "rtmp": "rtmp,tcp",
    "udp": "udp",
    "rtp": "rtp,udp",
    "srt": "srt,udp",
    "": "file",
}
"""What it may use for a kind of address: never files because a stream says so."""
_READ_BYTES = 65_536
_ERROR_CHARS = 300


async def still(source: str) -> bytes:
    """Return a picture of a stream, as JPEG.

    Raises:
        Unavailable: ffmpeg is missing, or the stream cannot be read.
        TimedOut, LimitExceeded: It took too long, or is too large.
    """
    arguments = ("-frames:v", "1", "-f", "image2pipe", "-c:v", "mjpeg", "-q:v", "3")
    return await _run(source, arguments, STILL_LIMIT_S, PICTURE_LIMIT_BYTES)


async def film(source: str, seconds: float) -> bytes:
    """Return a film of so many seconds of a stream, as MP4; raises as `still`."""
    is_ready = urlsplit(source).scheme.startswith(("rtsp", "rtmp", "srt"))
    video = ("-c:v", "copy") if is_ready else ("-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p")
    form = ("-f", "mp4", "-movflags", "frag_keyframe+empty_moov")
    arguments = ("-t", f"{seconds:g}", *video, "-c:a", "aac", *form)
    return await _run(source, arguments, seconds + START_LIMIT_S, FILM_LIMIT_BYTES)


def _command(source: str, arguments: tuple[str, ...]) -> list[str]:
    scheme = urlsplit(source).scheme
    begin = ["-rtsp_transport", "tcp"] if scheme.startswith("rtsp") else ["-f", "v4l2"] if not scheme else []
    allowed = ["-protocol_whitelist", _PROTOCOLS[scheme]]
    return ["ffmpeg", "-nostdin", "-loglevel", "error", *allowed, *begin, "-i", source, *arguments, "pipe:1"]


async def _run(source: str, arguments: tuple[str, ...], limit_s: float, limit_bytes: int) -> bytes:
    place = urlsplit(source).hostname or source
    try:
        process = await asyncio.create_subprocess_exec(
            *_command(source, arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={each: os.environ[each] for each in INHERITED if each in os.environ},
            start_new_session=True,
        )
    except FileNotFoundError as error:
        told = phrase("ffmpeg is needed to read {place}; install it on this machine (apt install ffmpeg)", place=place)
        raise Unavailable(told) from error
    complaints = asyncio.create_task(_last(process.stderr), name="read what ffmpeg complains of")
    try:
        async with asyncio.timeout(limit_s):
            data = await _all(process.stdout, limit_bytes, place)
            said, code = await complaints, await process.wait()
    except TimeoutError as error:
        told = phrase("{place} gave no picture within {limit_s} s", place=place, limit_s=f"{limit_s:g}")
        raise TimedOut(told) from error
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        complaints.cancel()
        await asyncio.wait({complaints})
        await process.wait()
    if code != 0 or not data:
        why = said.replace(source, place)[-_ERROR_CHARS:]
        told = phrase("ffmpeg could not read {place}: {why}", place=place, why=why or phrase("nothing came"))
        raise Unavailable(told, outside=True)
    return data


async def _all(stream: asyncio.StreamReader | None, limit_bytes: int, place: str) -> bytes:
    data = bytearray()
    while stream is not None and (chunk := await stream.read(_READ_BYTES)):
        data += chunk
        if len(data) > limit_bytes:
            raise LimitExceeded(phrase("{place} sent more than {limit} bytes", place=place, limit=f"{limit_bytes:,}"))
    return bytes(data)


async def _last(stream: asyncio.StreamReader | None) -> str:
    """Return the last words of a stream, on one line."""
    data = b""
    while stream is not None and (chunk := await stream.read(_READ_BYTES)):
        data = (data + chunk)[-_READ_BYTES:]
    return " ".join(data.decode("utf-8", "replace").split())
