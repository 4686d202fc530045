"""Copies elsewhere: on a real WebDAV server, and in a bucket that checks each signature and fails in its own ways."""

# ruff: noqa: ASYNC240 - a test may block its own loop
from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hub.backup.backups import Backups, BackupSettings
from hub.backup.errors import BackupFailed
from hub.backup.place import BackupPlace
from hub.backup.s3 import S3Place
from hub.backup.schema import BACKUP_SCHEMA
from hub.backup.webdav import WebDavPlace
from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.secret import Secret
from hub.security.egress import Egress
from hub.storage.homedir import Home
from tests.servers.ports import free_port

NAME = "homarus-home-20261129T033000Z.tar.gz"
ACCESS, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
NOW = 1_796_000_000.0


@pytest.fixture
async def egress() -> AsyncIterator[Egress]:
    egress = Egress(frozenset)
    yield egress
    await egress.close()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / NAME
    path.write_bytes(os.urandom(3_000_000))
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Bucket:
    """An S3 server with one bucket, which computes the signature of each request from the request alone."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.fail: Callable[[web.Request], Awaitable[web.StreamResponse | None]] | None = None
        self.page = 1000
        self.app = web.Application(client_max_size=64 * 1024 * 1024)
        self.app.router.add_route("*", "/{bucket}/{key:.*}", self._serve)
        self.app.router.add_route("*", "/{bucket}", self._serve)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if self.fail is not None and (failed := await self.fail(request)) is not None:
            return failed
        if not self._signed(request, body):
            return web.Response(status=403, text="<Error><Code>SignatureDoesNotMatch</Code></Error>")
        if request.match_info["bucket"] != "backups":
            return web.Response(status=404, text="<Error><Code>NoSuchBucket</Code></Error>")
        key = request.match_info.get("key", "")
        if request.method == "GET" and not key:
            return self._listing(request)
        if request.method == "PUT":
            self.objects[key] = body
            return web.Response()
        if key not in self.objects:
            return web.Response(status=204 if request.method == "DELETE" else 404)
        if request.method == "DELETE":
            del self.objects[key]
            return web.Response(status=204)
        return web.Response(body=self.objects[key])

    def _listing(self, request: web.Request) -> web.Response:
        query = request.query
        keys = sorted(key for key in self.objects if key.startswith(query["prefix"]))
        start = int(query.get("continuation-token", "0"))
        rows = "".join(
            f"<Contents><Key>{key}</Key><Size>{len(self.objects[key])}</Size>"
            "<LastModified>2026-11-29T03:30:00.000Z</LastModified></Contents>"
            for key in keys[start : start + self.page]
        )
        more = start + self.page
        token = f"<NextContinuationToken>{more}</NextContinuationToken>" if more < len(keys) else ""
        return web.Response(
            text=f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{rows}{token}</ListBucketResult>'
        )

    def _signed(self, request: web.Request, body: bytes) -> bool:
        told = request.headers.get("Authorization", "")
        try:
            scheme, fields = told.split(" ", 1)
            parts = dict(each.strip().split("=", 1) for each in fields.split(","))
            access, day, region, service, kind = parts["Credential"].split("/")
        except ValueError:
            return False
        raw_path, _, raw_query = request.raw_path.partition("?")
        pairs = sorted(tuple(each.split("=", 1)) for each in raw_query.split("&") if each)
        query = "&".join(f"{quote(unquote(k), safe='-_.~')}={quote(unquote(v), safe='-_.~')}" for k, v in pairs)
        names = parts["SignedHeaders"].split(";")
        headers = "".join(f"{name}:{request.headers[name].strip()}\n" for name in names)
        hashed = request.headers["x-amz-content-sha256"]
        canonical = "\n".join(
            (request.method, quote(unquote(raw_path), safe="/-_.~"), query, headers, ";".join(names), hashed)
        )
        stamp = request.headers["x-amz-date"]
        text = "\n".join(
            (scheme, stamp, f"{day}/{region}/{service}/{kind}", hashlib.sha256(canonical.encode()).hexdigest())
        )
        key = b"AWS4" + SECRET.encode()
        for part in (day, region, service, kind):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return (
            (access, service, kind, scheme) == (ACCESS, "s3", "aws4_request", "AWS4-HMAC-SHA256")
            and stamp.startswith(day)
            and {"host", "x-amz-content-sha256", "x-amz-date"} <= set(names)
            and hashed == hashlib.sha256(body).hexdigest()
            and hmac.new(key, text.encode(), hashlib.sha256).hexdigest() == parts["Signature"]
        )


@pytest.fixture
async def bucket() -> AsyncIterator[tuple[Bucket, str]]:
    bucket = Bucket()
    server = TestServer(bucket.app)
    await server.start_server()
    yield bucket, str(server.make_url("")).rstrip("/")
    await server.close()


def s3(url: str, egress: Egress, **changed: Any) -> S3Place:
    config = {
        "endpoint": url,
        "bucket": "backups",
        "region": "eu-central-1",
        "prefix": "my home/".replace(" ", "-"),
        "access_key": Secret(ACCESS),
        "secret_key": Secret(SECRET),
        **changed,
    }
    return S3Place(config, egress, lambda: NOW)


async def works(place: BackupPlace, archive: Path, folder: Path) -> None:
    await place.put(archive, digest(archive))

    assert [(each.name, each.size_bytes) for each in await place.files()] == [(NAME, 3_000_000)]
    await place.get(NAME, folder / "back")
    assert (folder / "back").read_bytes() == archive.read_bytes()
    await place.delete(NAME)
    await place.delete(NAME)
    assert await place.files() == []


async def test_a_bucket_takes_gives_and_deletes(bucket: tuple[Bucket, str], egress: Egress, archive: Path) -> None:
    await works(s3(bucket[1], egress), archive, archive.parent)


async def test_a_long_list_is_read_to_its_end(bucket: tuple[Bucket, str], egress: Egress, archive: Path) -> None:
    bucket[0].page = 2
    bucket[0].objects = {f"my-home/homarus-home-2026112{day}T033000Z.tar.gz": b"x" for day in range(5)}

    assert len(await s3(bucket[1], egress).files()) == 5


async def test_a_wrong_key_is_told(bucket: tuple[Bucket, str], egress: Egress, archive: Path) -> None:
    place = s3(bucket[1], egress, secret_key=Secret("another"))

    with pytest.raises(BackupFailed, match="look at the credentials"):
        await place.put(archive, digest(archive))

    assert bucket[0].objects == {}


async def test_a_bucket_that_is_not_there_is_told(bucket: tuple[Bucket, str], egress: Egress, archive: Path) -> None:
    with pytest.raises(BackupFailed, match="make the folder or the bucket"):
        await s3(bucket[1], egress, bucket="nothing").put(archive, digest(archive))


@pytest.mark.parametrize(
    ("status", "told"), [(507, "no room"), (500, "try again later"), (413, "no file of this size")]
)
async def test_a_server_that_refuses_is_told(
    bucket: tuple[Bucket, str], egress: Egress, archive: Path, status: int, told: str
) -> None:
    async def fail(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status)

    bucket[0].fail = fail

    with pytest.raises(BackupFailed, match=told):
        await s3(bucket[1], egress).put(archive, digest(archive))


async def test_an_answer_that_breaks_off_leaves_no_file(
    bucket: tuple[Bucket, str], egress: Egress, archive: Path
) -> None:
    place = s3(bucket[1], egress)
    await place.put(archive, digest(archive))

    async def fail(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "3000000"})
        await response.prepare(request)
        await response.write(b"x" * 1000)
        assert request.transport is not None
        request.transport.close()
        return response

    bucket[0].fail = fail

    with pytest.raises(HubError):
        await place.get(NAME, archive.parent / "back")

    assert not (archive.parent / "back").exists()


async def test_a_list_that_is_none_is_told(bucket: tuple[Bucket, str], egress: Egress) -> None:
    async def fail(request: web.Request) -> web.StreamResponse:
        return web.Response(text="<html><body>Welcome")

    bucket[0].fail = fail

    with pytest.raises(HubError, match="cannot be read"):
        await s3(bucket[1], egress).files()


@pytest.fixture
def webdav(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    program = shutil.which("rclone")
    if program is None:
        pytest.skip("rclone is not installed")
    folder, port = tmp_path / "dav", free_port()
    (folder / "my backups").mkdir(parents=True)
    process = subprocess.Popen(
        [program, "serve", "webdav", str(folder), "--addr", f"127.0.0.1:{port}", "--user", "me", "--pass", "pass:word"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "RCLONE_CONFIG": str(tmp_path / "rclone.conf")},
    )
    yield f"http://127.0.0.1:{port}/my%20backups/", folder / "my backups"
    process.send_signal(signal.SIGTERM)
    process.wait(30)


async def dav(url: str, egress: Egress, **changed: Any) -> WebDavPlace:
    """The place, once its server listens."""
    place = WebDavPlace({"url": url, "username": "me", "password": Secret("pass:word"), **changed}, egress)
    async with asyncio.timeout(30):
        while True:
            try:
                await place.files()
            except BackupFailed:
                return place
            except HubError:
                await asyncio.sleep(0.05)
            else:
                return place


async def test_a_webdav_server_takes_gives_and_deletes(webdav: tuple[str, Path], egress: Egress, archive: Path) -> None:
    await works(await dav(webdav[0], egress), archive, archive.parent)


async def test_an_upload_gets_its_name_at_its_end(webdav: tuple[str, Path], egress: Egress, archive: Path) -> None:
    place = await dav(webdav[0], egress)
    (webdav[1] / NAME).mkdir()  # so that it cannot have it

    with pytest.raises(HubError):
        await place.put(archive, digest(archive))

    assert [each.name for each in webdav[1].iterdir()] == [NAME]


async def test_a_wrong_password_is_told(webdav: tuple[str, Path], egress: Egress, archive: Path) -> None:
    place = await dav(webdav[0], egress, password=Secret("another"))

    with pytest.raises(BackupFailed, match="does not accept the credentials"):
        await place.put(archive, digest(archive))


async def test_a_folder_that_is_not_there_is_told(webdav: tuple[str, Path], egress: Egress) -> None:
    place = await dav(webdav[0].replace("my%20backups", "nothing"), egress)

    with pytest.raises(BackupFailed, match="make the folder"):
        await place.files()


async def test_a_private_address_is_called_only_where_it_is_configured(egress: Egress, archive: Path) -> None:
    place = s3("http://127.0.0.1:1", egress)

    with pytest.raises(HubError, match="could not be fetched"):
        await place.put(archive, digest(archive))


async def test_a_place_that_says_nothing_holds_up_no_list(
    bucket: tuple[Bucket, str], egress: Egress, tmp_path: Path
) -> None:
    release = asyncio.Event()

    async def fail(request: web.Request) -> web.StreamResponse:
        await release.wait()
        return web.Response(status=500)

    bucket[0].fail = fail
    to = {"s3": {"endpoint": bucket[1], "bucket": "backups", "access_key": ACCESS, "secret_key": SECRET}}
    settings = BackupSettings(BACKUP_SCHEMA({"to": to}), "Home", UTC)
    backups = Backups(Home(tmp_path), lambda: settings, egress=egress, clock=Clock(), list_limit_s=0.05)

    found, failed = await backups.find_all()

    release.set()
    assert (found, list(failed)) == ([], ["s3"])
    assert "did not answer" in failed["s3"]
