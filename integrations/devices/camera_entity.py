"""A configured camera as an entity: where its pictures and films come from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit, urlunsplit

from hub.core.errors import Unavailable
from hub.core.phrases import phrase
from hub.core.slugs import slugify
from hub.entities.description import EntityDescription
from hub.entities.pictures import PICTURE_LIMIT_BYTES, Picture
from hub.models.images import image_type
from hub.security.egress_body import read_body
from integrations.devices.camera_ffmpeg import film, still
from integrations.devices.camera_mjpeg import first_picture

if TYPE_CHECKING:
    from aiohttp import ClientResponse

    from hub.host import IntegrationHost

SILENCE_S = 10.0
AT_ONCE = 3
"""Pictures and films that are taken of one camera at a time; others wait."""
STREAM = 2
"""The feature of a camera that has a stream."""


def add_camera(host: IntegrationHost, config: Mapping[str, Any]) -> None:
    """Add a camera's entity."""
    camera = _Camera(host, config)
    host_name = urlsplit(camera.source).hostname or camera.source.rpartition("/")[2]
    name = config.get("name") or host_name
    unique_id = config.get("unique_id") or slugify(name)
    description = EntityDescription(
        "camera",
        unique_id,
        name,
        attributes={"supported_features": STREAM} if camera.stream else {},
        picture=camera.take,
        film=camera.record if camera.stream else None,
    )
    host.entities.add(description).set("idle")


class _Camera:
    """Takes the pictures of a camera, and notes in its entity whether it answers."""

    def __init__(self, host: IntegrationHost, config: Mapping[str, Any]) -> None:
        self._host, self._config = host, config
        self._url, self._mjpeg = config.get("still_image_url"), config.get("mjpeg_url")
        stream = config.get("stream_source") or config.get("input") or self._mjpeg or ""
        self.source: str = self._url or stream
        self.stream = self._with_password(stream)
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def take(self) -> Picture:
        """Return a picture.

        Raises:
            HubError: The camera gave none.
        """
        async with self._gate:
            data = await self._taken()
        mime_type = image_type(data)
        if mime_type is None:
            raise Unavailable(phrase("{place} sent something that is no picture", place=_place(self.source)))
        return Picture(data, mime_type)

    async def record(self, seconds: float) -> Picture:
        """Return a film of so many seconds.

        Raises:
            HubError: None could be made.
        """
        async with self._gate:
            return Picture(await film(self.stream, seconds), "video/mp4")

    async def _taken(self) -> bytes:
        if self._url is not None:
            async with self._open(self._url) as answer:
                return await read_body(answer.content.iter_any(), "", PICTURE_LIMIT_BYTES)
        if self._mjpeg is not None:
            async with self._open(self._mjpeg) as answer:
                return await first_picture(answer.content.iter_any(), _place(self._mjpeg))
        return await still(self.stream)

    @asynccontextmanager
    async def _open(self, url: str) -> AsyncIterator[ClientResponse]:
        """Ask for an address of the configuration, which may be in the network of the home.

        Raises:
            HubError: It does not answer, or not with what was asked for.
        """
        from aiohttp import DigestAuthMiddleware, encode_basic_auth

        user, password = self._config.get("username"), self._config.get("password")
        headers, middlewares = {}, []
        if user is not None and password is not None:
            if self._config["authentication"] == "digest":
                middlewares.append(DigestAuthMiddleware(user, password.reveal()))
            else:
                headers["Authorization"] = encode_basic_auth(user, password.reveal())
        opened = self._host.egress.open(
            url, headers=headers, named=url, silence_s=SILENCE_S, middlewares=tuple(middlewares)
        )
        async with opened as answer:
            if answer.status == 401:
                raise Unavailable(phrase("{place} refuses the name or the password", place=_place(url)))
            if answer.status != 200:
                told = phrase("{place} answered {status} instead of a picture", place=_place(url), status=answer.status)
                raise Unavailable(told)
            yield answer

    def _with_password(self, url: str) -> str:
        """Return the address of a stream with the name and the password in it, where it has none of its own."""
        parts, password = urlsplit(url), self._config.get("password")
        if password is None or parts.username or not parts.hostname:
            return url
        known = f"{quote(self._config['username'], safe='')}:{quote(password.reveal(), safe='')}"
        return urlunsplit(parts._replace(netloc=f"{known}@{parts.netloc}"))


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or url
