"""What Twilio opens at the hub: the announcement of a call, what became of one, and a call's stream."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from aiohttp import web

from hub.core.errors import HubError, InvalidRequest, Unauthorized
from hub.core.surfaces import HttpCall, Open, Route
from hub.gateway.access.guarded_socket import keep_guest
from integrations.channels.twilio_signature import fields_of, is_genuine
from integrations.channels.voice_call.channel import NAME, VoiceCallChannel

BODY_BYTES = 16_384
FRAME_BYTES = 65_536
START_LIMIT_S = 10.0
CLOSE_REFUSED = 4_003


def routes(channel: VoiceCallChannel) -> list[Route]:
    """Return the routes of a number."""

    def signed_fields(call: HttpCall, path: str) -> dict[str, str]:
        """Return the fields of a request that Twilio signed.

        Raises:
            Unauthorized: It did not.
        """
        body = bytes(call.body or b"")
        headers = {name.lower(): value for name, value in call.request.headers.items()}
        url, token = channel.config.public_url + path, channel.config.token.reveal()
        if not is_genuine(body, headers, url, token, None):
            raise Unauthorized("this is not signed with the token of the account")
        return dict(fields_of(body))

    async def announce(call: HttpCall) -> web.StreamResponse:
        """`POST /voice_call/<account>`: answer a call that comes in."""
        fields = signed_fields(call, channel.path)
        try:
            sid, number = fields["CallSid"], fields["From"]
        except KeyError as error:
            raise InvalidRequest(f"this is no call: {error} is missing") from error
        return web.Response(text=await channel.ring(sid, number), content_type="text/xml")

    async def status(call: HttpCall) -> web.StreamResponse:
        """`POST /voice_call/<account>/status`: hear what became of a call that was made."""
        fields = signed_fields(call, f"{channel.path}/status")
        channel.ended(fields.get("CallSid", ""), fields.get("CallStatus", ""))
        return web.Response(status=204)

    async def stream(call: HttpCall) -> web.StreamResponse:
        """`GET /voice_call/<account>`: hold a call; its first frames say by a token which."""
        socket = web.WebSocketResponse(compress=False, max_msg_size=FRAME_BYTES, timeout=1.0)
        await socket.prepare(call.request)

        def accept() -> None:
            keep_guest(call.request, f"visitor:{NAME}/{channel.account}")

        try:
            started = await _started(socket)
            token = str((started["start"].get("customParameters") or {}).get("token", ""))
            name, sid = str(started["streamSid"]), str(started["start"]["callSid"])
            await channel.serve(socket, name, sid, token, accept)
        except (HubError, LookupError, TypeError, ValueError, AttributeError, TimeoutError, RuntimeError) as error:
            told = error.message if isinstance(error, HubError) else "this is not understood"
            await socket.close(code=CLOSE_REFUSED, message=told.encode()[:120])
        return socket

    return [
        Route("POST", channel.path, announce, NAME, Open.SELF, body_limit=BODY_BYTES, open_limit=BODY_BYTES),
        Route("POST", f"{channel.path}/status", status, NAME, Open.SELF, body_limit=BODY_BYTES, open_limit=BODY_BYTES),
        Route("GET", channel.path, stream, NAME, Open.SELF, websocket=True),
    ]


async def _started(socket: web.WebSocketResponse) -> Any:
    """Return the frame with which a stream starts."""
    async with asyncio.timeout(START_LIMIT_S):
        for _ in range(3):
            frame = orjson.loads((await socket.receive()).data)
            if frame["event"] == "start":
                return frame
    raise ValueError("it does not start")
