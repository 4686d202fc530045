"""Keys of cameras that are configured by their addresses, under Home Assistant's names."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from hub.core.schema import All, Described, In, Invalid, Length, Optional, Required, Schema, SchemaError, secret, string

STREAMS = ("rtsp", "rtsps", "rtmp", "http", "https", "udp", "rtp", "srt")
_TEXT = All(string, Length(min=1, max=2_048))
_NAME = All(string, Length(min=1, max=128))


def _url(*schemes: str) -> Any:
    def check(value: Any) -> str:
        text = str(_TEXT(value))
        parts = urlsplit(text)
        if parts.scheme not in schemes or not parts.hostname:
            raise Invalid(f"expected an address that begins with {', '.join(f'{each}://' for each in schemes)}")
        return text

    return Described(check, {"type": "string"}, "address")


def _input(value: Any) -> str:
    text = str(_TEXT(value))
    return text if re.fullmatch(r"/dev/video\d{1,2}", text) else str(_url(*STREAMS)(text))


_COMMON = {
    Optional("name", description="What it is called"): _NAME,
    Optional("unique_id", description="Keeps what people decide about it when its name changes"): _NAME,
}
_SIGN_IN = {
    Optional("username", description="For the camera"): _NAME,
    Optional("password", description="Its password"): secret,
    Optional("authentication", default="basic", description="How the camera checks it over HTTP"): In(
        ("basic", "digest")
    ),
}
_STILL = {Optional("still_image_url", description="Where a single picture is"): _url("http", "https")}


def _whole(config: dict[str, Any]) -> dict[str, Any]:
    if not {"still_image_url", "stream_source", "mjpeg_url"} & config.keys():
        raise SchemaError("missing: still_image_url or stream_source", path=["still_image_url"])
    if ("password" in config) != ("username" in config):
        raise SchemaError("expected both username and password", path=["username"])
    return config


GENERIC = Schema(
    All(
        {
            **_COMMON,
            **_STILL,
            Optional("stream_source", description="A stream that ffmpeg reads, such as rtsp://…"): _url(*STREAMS),
            **_SIGN_IN,
        },
        _whole,
    )
)
MJPEG = Schema(
    All(
        {
            **_COMMON,
            Required("mjpeg_url", description="A stream of pictures over HTTP"): _url("http", "https"),
            **_STILL,
            **_SIGN_IN,
        },
        _whole,
    )
)
FFMPEG = Schema(
    {
        **_COMMON,
        Required("input", description="A stream that ffmpeg reads, or /dev/video0"): Described(
            _input, {"type": "string"}, "address"
        ),
    }
)
