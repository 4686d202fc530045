"""Registries of skills are searched and installed from, over a server that speaks their APIs with its errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.errors import HubError, InvalidRequest, NotFound, Unavailable
from hub.core.schema import SchemaError
from hub.skills.registries import SkillRegistries
from hub.skills.schema import REGISTRIES, SKILLS_SCHEMA
from tests.servers.skill_registry import MALICIOUS, SUSPICIOUS, SkillRegistry
from tests.skills.malicious import FRONT, packed, tarred
from tests.skills.test_control import ControlledHome

FILES = {"SKILL.md": f"{FRONT}Look out of the window.", "run.sh": "echo"}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def server() -> Iterator[SkillRegistry]:
    with SkillRegistry() as server:
        yield server


class Asker:
    """A home that knows the server as two registries."""

    def __init__(self, folder: Path, server: SkillRegistry) -> None:
        self.home = ControlledHome(folder, [f"127.0.0.1:{server.port}"])
        stated = {
            "hub": {"kind": "clawhub", "url": f"{server.root_url}/"},
            "site": {"kind": "index", "url": server.root_url},
        }
        settings = SKILLS_SCHEMA({"registries": stated})["registries"]
        self.registries = SkillRegistries(self.home.egress, lambda: settings)

    async def found(self, words: str, registry: str | None = None, limit: int | None = None) -> list[str]:
        result = await self.registries.search(words, registry, limit)
        assert not result.failed
        return [each.ref for each in result.found]

    async def installed(self, ref: str) -> Any:
        fetched = await self.registries.fetch(ref)
        id = await self.home.control.install(fetched.data, fetched.origin, path=fetched.path, name=fetched.name)
        return await self.home.control.look(id, "main")


@pytest.fixture
def asker(tmp_path: Path, server: SkillRegistry) -> Asker:
    return Asker(tmp_path, server)


def test_clawhub_is_known_by_default_and_an_address_must_be_one() -> None:
    assert (
        SKILLS_SCHEMA({})["registries"] == REGISTRIES == {"clawhub": {"kind": "clawhub", "url": "https://clawhub.ai"}}
    )
    assert SKILLS_SCHEMA({"registries": None})["registries"] == {}
    for wrong in ({"kind": "npm", "url": "https://x.org"}, {"kind": "index", "url": "file:///etc"}, {"kind": "index"}):
        with pytest.raises(SchemaError):
            SKILLS_SCHEMA({"registries": {"x": wrong}})


async def test_a_skill_is_found_and_installed_off_with_its_origin(asker: Asker, server: SkillRegistry) -> None:
    server.publish("ada", "rain", "1.0.0", FILES, summary="Tells the rain.", displayName="Rain", downloads=7)
    server.publish("ada", "snow", "1.0.0", FILES)
    server.publish("ada", "rain-twice", "1.0.0", FILES)

    (found,) = (await asker.registries.search("rain", "hub", 1)).found
    assert "limit=1&" in server.asked[-1]
    look = await asker.installed(found.ref)

    assert (found.ref, found.name, found.description) == ("hub:ada/rain", "Rain", "Tells the rain.")
    assert (found.version, found.downloads, found.url) == ("1.0.0", 7, f"{server.root_url}/ada/skills/rain")
    assert (look.judged.skill.id, look.judged.state) == ("home/helper", "not_enabled")
    assert look.judged.skill.pin.origin == {"kind": "registry", "source": "hub:ada/rain"}
    assert set(look.files) == {"SKILL.md", "run.sh", "_meta.json"}


async def test_a_version_is_asked_for_by_its_number(asker: Asker, server: SkillRegistry) -> None:
    server.publish("ada", "rain", "1.0.0", {"SKILL.md": f"{FRONT}Old."})
    server.publish("ada", "rain", "2.0.0", {"SKILL.md": f"{FRONT}New."})

    look = await asker.installed("hub:ada/rain@1.0.0")

    assert "Old." in look.text
    assert server.asked[-1] == "/api/v1/download?slug=rain&version=1.0.0&ownerHandle=ada"
    with pytest.raises(NotFound, match="404: Version not found"):
        await asker.registries.fetch("hub:rain@9.9.9")


async def test_a_skill_kept_at_github_is_fetched_at_the_commit_that_was_looked_at(
    asker: Asker, server: SkillRegistry
) -> None:
    archive = f"{server.root_url}/repos/ada/skills/zipball/{COMMIT}"
    handoff = {"repo": "ada/skills", "commit": COMMIT, "path": "more/rain", "archiveUrl": archive, "contentHash": "x"}
    server.publish("ada", "rain", "1.0.0", {}, github=handoff)
    server.repository = {"more/rain/SKILL.md": FILES["SKILL.md"], "more/snow/SKILL.md": FRONT, "README.md": "hello"}

    look = await asker.installed("hub:rain")

    assert "Look out of the window." in look.text
    assert look.judged.skill.pin.origin["commit"] == COMMIT
    assert list(look.files) == ["SKILL.md"]


async def test_what_a_registry_says_is_cut_and_freed_of_letters_that_cannot_be_seen(
    asker: Asker, server: SkillRegistry
) -> None:
    summary = f"rain\x1b[31m\u202eevil\u200b <b>\n{'x' * 400}"
    server.publish("ada", "rain", "1.0.0", FILES, summary=summary, displayName="R" * 200)
    server.publish("../..", "rain", "1.0.0", FILES)
    server.publish("ada", "rain;rm", "1.0.0", FILES)

    (found,) = (await asker.registries.search("rain", "hub")).found

    assert found.description.startswith("rain [31m evil <b> xxx")
    assert (len(found.description), len(found.name)) == (300, 80)


async def test_what_the_registry_holds_back_is_neither_found_nor_installed(asker: Asker, server: SkillRegistry) -> None:
    server.publish("ada", "rain", "1.0.0", FILES, scan=SUSPICIOUS)
    server.publish("bob", "rainy", "1.0.0", FILES, scan=MALICIOUS)
    server.publish("bob", "hail", "1.0.0", FILES, scan="pending")

    assert await asker.found("rain", "hub") == []
    with pytest.raises(InvalidRequest, match="403: Blocked: this skill was flagged as malicious") as refused:
        await asker.registries.fetch("hub:bob/rainy")
    assert refused.value.outside
    with pytest.raises(InvalidRequest, match="423: GitHub-backed"):
        await asker.registries.fetch("hub:bob/hail")


async def test_a_name_that_several_have_is_asked_for_by_its_owner(asker: Asker, server: SkillRegistry) -> None:
    server.publish("ada", "rain", "1.0.0", FILES)
    server.publish("bob", "rain", "1.0.0", FILES)

    with pytest.raises(InvalidRequest, match="say whose: ada/rain, bob/rain"):
        await asker.registries.fetch("hub:rain")
    assert (await asker.registries.fetch("hub:@bob/rain")).name == "rain"


async def test_a_registry_that_was_asked_too_often_says_when_to_ask_again(asker: Asker, server: SkillRegistry) -> None:
    server.budget = 0
    with pytest.raises(Unavailable, match=r"asked too often; try again in 34 s") as refused:
        await asker.registries.fetch("hub:rain")
    assert refused.value.retry_after_s == 34


async def test_a_site_is_searched_in_its_index_and_gives_out_what_has_the_digest_of_it(
    asker: Asker, server: SkillRegistry
) -> None:
    well_known = "/.well-known/agent-skills"
    server.list_skill("rain", tarred({"./SKILL.md": FILES["SKILL.md"]}), f"{well_known}/rain.tar.gz", "Tells the rain.")
    server.list_skill("snow", packed(FILES), "snow.zip", "Tells the snow.")
    server.list_skill("hail", FRONT.encode(), f"{server.root_url}{well_known}/hail.md", "Tells the hail.", "skill-md")
    server.index["skills"] += [
        {"name": "odd"},
        {"name": "fog", "type": "npm", "url": "/", "digest": "", "description": ""},
    ]

    assert await asker.found("tells THE", "site") == ["site:rain", "site:snow", "site:hail"]
    assert await asker.found("rain", "site") == ["site:rain"]
    assert await asker.found("tells the", "site", 2) == ["site:rain", "site:snow"]
    for name in ("rain", "snow", "hail"):
        look = await asker.installed(f"site:{name}")
        assert look.judged.skill.pin.origin["source"] == f"site:{name}"
        await asker.home.control.remove(look.judged.skill.id, "main")
    server.artifacts["snow.zip"] = packed({**FILES, "more.md": "!"})
    with pytest.raises(InvalidRequest, match="does not have the digest of its index"):
        await asker.registries.fetch("site:snow")
    with pytest.raises(NotFound, match="site lists no skill fog"):
        await asker.registries.fetch("site:fog")
    with pytest.raises(InvalidRequest, match="by their names alone"):
        await asker.registries.fetch("site:rain@1.0.0")


@pytest.mark.parametrize("form", ["", "https://schemas.agentskills.io/discovery/9.9.9/schema.json"])
async def test_an_index_of_another_form_is_not_read(asker: Asker, server: SkillRegistry, form: str) -> None:
    server.index["$schema"] = form

    result = await asker.registries.search("rain")

    assert "of another form" in result.failed["site"]
    assert "hub" not in result.failed


@pytest.mark.parametrize(
    "ref", ["rain", "hub:", "hub:../rain", "hub:a/b/c", "hub:rain@", "nobody:rain", "hub:rain?x=1"]
)
async def test_what_is_no_skill_of_a_registry_is_refused_before_anything_is_asked(
    asker: Asker, server: SkillRegistry, ref: str
) -> None:
    with pytest.raises(HubError):
        await asker.registries.fetch(ref)
    assert server.asked == []


@pytest.mark.parametrize("name", ["zip slip", "tar symlink", "bomb"])
async def test_an_archive_of_a_registry_is_judged_like_any_other(
    asker: Asker, server: SkillRegistry, name: str
) -> None:
    from tests.skills.malicious import REFUSED

    server.list_skill("evil", REFUSED[name][0], "evil.bin")

    with pytest.raises(InvalidRequest, match=REFUSED[name][1]):
        await asker.installed("site:evil")
