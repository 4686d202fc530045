"""Backups in a bucket of Amazon S3, or of a compatible server: requests signed with Signature Version 4."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from hub.backup.errors import BackupFailed
from hub.backup.listings import RemoteFile, S3Listing, parse_s3
from hub.backup.place import PlaceRequests
from hub.security.egress import Egress

PUT_LIMIT_BYTES = 5 * 1024**3
"""S3 takes no larger file in one piece."""
PAGES_LIMIT = 100
EMPTY = sha256(b"").hexdigest()


class S3Place:
    """A bucket; see `BackupPlace`. The bucket is named in the path, which every such server understands."""

    kind = "s3"

    def __init__(self, config: Mapping[str, Any], egress: Egress, wall_time: Callable[[], float]) -> None:
        self._endpoint = config["endpoint"].rstrip("/")
        self._bucket, self._prefix = config["bucket"], config["prefix"]
        self._region = config["region"]
        self._access, self._secret = config["access_key"], config["secret_key"]
        self._wall_time = wall_time
        self.title = f"the bucket {self._bucket} at {urlsplit(self._endpoint).hostname}"
        self._requests = PlaceRequests(egress, self._endpoint, self.title)

    async def put(self, path: Path, sha256: str) -> None:
        if (await asyncio.to_thread(path.stat)).st_size > PUT_LIMIT_BYTES:
            raise BackupFailed(f"{path.name} is larger than 5 GiB, which S3 does not take in one piece; use WebDAV")
        url, headers = self._signed("PUT", self._key(path.name), {}, sha256)
        headers["Content-Type"] = "application/octet-stream"
        async with self._requests.ask("PUT", url, headers, path=path):
            pass

    async def files(self) -> list[RemoteFile]:
        found: list[RemoteFile] = []
        query = {"list-type": "2", "prefix": self._prefix}
        for _ in range(PAGES_LIMIT):
            url, headers = self._signed("GET", f"/{self._bucket}", query)
            data = await self._requests.listing("GET", url, headers)
            page = await self._requests.egress.reader.read(
                f"the list of files of {self.title}", parse_s3, data, returns=S3Listing
            )
            found += page.files
            if not page.more:
                break
            query["continuation-token"] = page.more
        return found

    async def get(self, name: str, target: Path) -> None:
        await self._requests.download(*self._signed("GET", self._key(name), {}), target)

    async def delete(self, name: str) -> None:
        url, headers = self._signed("DELETE", self._key(name), {})
        async with self._requests.ask("DELETE", url, headers, missing=True):
            pass

    def _key(self, name: str) -> str:
        return f"/{self._bucket}/{self._prefix}{name}"

    def _signed(
        self, method: str, path: str, query: Mapping[str, str], body_sha256: str = EMPTY
    ) -> tuple[str, dict[str, str]]:
        """Return the URL of a request and its headers, with the signature."""
        now = datetime.fromtimestamp(self._wall_time(), UTC)
        base = urlsplit(self._endpoint)
        path = quote(f"{base.path}{path}", safe="/-_.~")
        asked = urlencode(sorted(query.items()), quote_via=quote, safe="-_.~")
        headers = {"x-amz-content-sha256": body_sha256, "x-amz-date": now.strftime("%Y%m%dT%H%M%SZ")}
        port = {"https": ":443", "http": ":80"}.get(base.scheme, "")
        signed = {"host": base.netloc.removesuffix(port), **headers}
        headers["Authorization"] = authorization(
            "\n".join((method, path, asked, *(f"{name}:{value}" for name, value in sorted(signed.items())), "")),
            ";".join(sorted(signed)),
            body_sha256,
            now,
            (self._access.reveal(), self._secret.reveal(), self._region),
        )
        return f"{base.scheme}://{base.netloc}{path}{f'?{asked}' if asked else ''}", headers


def authorization(request: str, signed: str, body_sha256: str, now: datetime, credentials: tuple[str, str, str]) -> str:
    """Return the header that signs a request, by Signature Version 4.

    Args:
        request: Method, path, query and headers of the canonical request, each on its line.
        signed: Names of the signed headers.
        credentials: Access key, secret key and region.
    """
    access, secret, region = credentials
    day = now.strftime("%Y%m%d")
    scope = f"{day}/{region}/s3/aws4_request"
    canonical = sha256(f"{request}\n{signed}\n{body_sha256}".encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{now.strftime('%Y%m%dT%H%M%SZ')}\n{scope}\n{canonical}"
    key = f"AWS4{secret}".encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return f"AWS4-HMAC-SHA256 Credential={access}/{scope}, SignedHeaders={signed}, Signature={signature}"
