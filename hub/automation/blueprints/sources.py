"""Sources of blueprints: the URL of a file, a page of GitHub or a gist, a topic of Home Assistant's forum."""

from __future__ import annotations

import html
import json
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from hub.automation.blueprints.document import SIZE_LIMIT_BYTES, read_blueprint
from hub.automation.blueprints.errors import BlueprintInvalid
from hub.core.errors import InvalidRequest, NotFound
from hub.core.lazy_pattern import LazyPattern
from hub.core.phrases import phrase
from hub.security.egress import Egress, Fetched

_FORUM = LazyPattern(r"https://community\.home-assistant\.io/t/(?:[^/?#]+/)?(?P<topic>\d+)(?:/\d+)?/?(?:[?#].*)?")
_GITHUB = LazyPattern(r"https://github\.com/(?P<owner>[^/]+)/(?P<repo>[^/]+)/(?:blob|raw)/(?P<path>[^?#]+)")
_RAW_GITHUB = LazyPattern(r"https://raw\.githubusercontent\.com/(?P<owner>[^/]+)/")
_GIST = LazyPattern(r"https://gist\.github\.com/(?:(?P<owner>[^/]+)/)?(?P<id>[0-9a-f]{20,40})/?(?:[?#].*)?")
_CODE = LazyPattern(r"<code[^>]{0,200}class=\"lang-(auto|yaml|yml)\"[^>]{0,200}>([^<]*)</code>")
_NOT_IN_NAMES = LazyPattern(r"[^a-z0-9_-]+")


class BlueprintSource(Struct, frozen=True):
    """A downloaded text.

    Attributes:
        text: The blueprint.
        suggested_path: A suggested path below `blueprints/<domain>`.
    """

    text: str
    suggested_path: str


class SourceAddress(Struct, frozen=True):
    """The source of a blueprint.

    Attributes:
        url: The requested address.
        read: Takes the answer and returns what is in it; raises `NotFound` or `InvalidRequest`.
    """

    url: str
    read: Callable[[Fetched], BlueprintSource]


def place_of(url: str) -> SourceAddress:
    """Return the raw address of a blueprint from the address of its web page."""
    if match := _FORUM.fullmatch(url):
        return SourceAddress(
            f"https://community.home-assistant.io/t/{match['topic']}.json", lambda got: _from_forum(got, url)
        )
    if match := _GIST.fullmatch(url):
        return SourceAddress(f"https://api.github.com/gists/{match['id']}", lambda got: _from_gist(got, url))
    if match := _GITHUB.match(url):
        owner, repo, path = match["owner"], match["repo"], match["path"]
        raw = f"https://raw.githubusercontent.com/{owner}/{repo}/{path}"
        return SourceAddress(raw, lambda got: _from_file(got, owner))
    match = _RAW_GITHUB.match(url)
    folder = match["owner"] if match else urlsplit(url).hostname or "imported"
    return SourceAddress(url, lambda got: _from_file(got, folder))


async def fetch_source(egress: Egress, url: str) -> Fetched:
    """Fetch the text or page that a blueprint is read from.

    Raises:
        NotFound: There is nothing at this address.
        HubError: It cannot be fetched, for the reasons `Egress.fetch` has.
    """
    place = place_of(url)
    answer = await egress.fetch(place.url, headers={"Accept": "*/*"}, limit_bytes=4 * SIZE_LIMIT_BYTES)
    if answer.status != 200:
        raise NotFound(
            phrase(
                "there is no blueprint at {url}: {place} answers with status {status}",
                url=url,
                place=place.url,
                status=answer.status,
            )
        )
    return answer


def path_from(folder: str, name: str) -> str:
    """Return a path made of two names from outside, of plain letters only."""
    stem = posixpath.basename(unquote(name)).removesuffix(".yaml").removesuffix(".yml")
    return f"{_plain(folder)}/{_plain(stem)}.yaml"


def _plain(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name.lower()).strip("_")[:60] or "imported"


def _from_file(answer: Fetched, folder: str) -> BlueprintSource:
    try:
        text = answer.body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidRequest(phrase("{url} is not UTF-8 text, so it is not a blueprint", url=answer.url)) from None
    if text.lstrip()[:1] == "<":
        raise InvalidRequest(
            phrase("{url} is a page, not a file; give the address of the YAML file itself", url=answer.url)
        )
    return BlueprintSource(text, path_from(folder, urlsplit(answer.url).path))


def _from_forum(answer: Fetched, url: str) -> BlueprintSource:
    data = _json(answer)
    posts = _at(data, "post_stream", "posts")
    first = posts[0] if isinstance(posts, list) and posts and isinstance(posts[0], dict) else {}
    blocks = (html.unescape(match[2]) for match in _CODE.finditer(str(first.get("cooked", ""))))
    text = _first_blueprint(blocks)
    if text is None:
        raise NotFound(phrase("the first post of {url} has no block of YAML that is a blueprint", url=url))
    return BlueprintSource(text, path_from(str(first.get("username", "forum")), str(_at(data, "slug") or "topic")))


def _from_gist(answer: Fetched, url: str) -> BlueprintSource:
    data = _json(answer)
    files = _at(data, "files")
    found = {
        str(name): each["content"]
        for name, each in (files.items() if isinstance(files, Mapping) else ())
        if str(name).endswith((".yaml", ".yml")) and isinstance(each, Mapping) and isinstance(each.get("content"), str)
    }
    for name, text in found.items():
        if _first_blueprint([text]) is not None:
            return BlueprintSource(text, path_from(str(_at(data, "owner", "login") or "gist"), name))
    raise NotFound(phrase("{url} contains no .yaml file that is a blueprint", url=url))


def _first_blueprint(texts: Iterable[str]) -> str | None:
    """Return the first text that is meant as a blueprint, even if it has errors."""
    for text in texts:
        try:
            read_blueprint(text.strip() + "\n", "post")
        except BlueprintInvalid:
            if not re.search(r"^blueprint:", text, re.MULTILINE):
                continue
        return text.strip() + "\n"
    return None


def _json(answer: Fetched) -> Any:
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(phrase("{url} did not answer with JSON", url=answer.url)) from error


def _at(data: Any, *keys: str) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data
