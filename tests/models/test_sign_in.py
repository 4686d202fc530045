"""Signing in with PKCE, by the way back or by hand, keys that are added, and tokens that are renewed in time."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.secret import Secret
from hub.core.tasks import TaskOwner
from hub.models.accounts import ModelAccounts
from hub.models.contract import AuthError, ModelRequest, Overloaded, user_message
from hub.models.credential_file import FILE, CredentialKind, ModelCredentials, StoredCredential
from hub.models.oauth import begin_sign_in, code_of, refresh_credential
from hub.models.oauth_endpoints import PRESETS
from hub.models.registry import ModelRegistry
from hub.models.vendors import OPENAI_API
from integrations.models.openai_compatible.model import OpenAIProvider
from tests.models.conftest import World
from tests.servers.oauth_server import OAuthServer, oauth_server
from tests.servers.openai_server import OpenAIServer
from tests.servers.ports import free_port
from tests.until import LIMIT_S


class SignInRig:
    """Accounts over a sign-in server and a model server."""

    def __init__(self, world: World, folder: Path, oauth: OAuthServer, models: OpenAIServer, **more: Any) -> None:
        self.world, self.oauth, self.folder = world, oauth, folder
        self.hidden: list[str] = []
        self.tasks = TaskOwner("sign-ins")
        self.back = f"http://localhost:{free_port()}/back"
        provider = {
            "api": "openai",
            "base_url": models.base_url,
            "models": ["m"],
            "oauth": {**oauth.endpoint, "redirect_url": self.back, **more},
        }
        self.store = ModelCredentials(folder, world.clock, lambda secret: self.hidden.append(secret.reveal()))
        self.store.load()
        section = {"default": "mine", "providers": {"mine": provider}}
        self.models = ModelRegistry(section, world.bus, world.clock, world.repairs, environment={}, tokens=self.store)
        self.models.register_api(OPENAI_API, lambda name, config: OpenAIProvider(name, config, world.clock))
        world.registries.append(self.models)
        self.accounts = ModelAccounts(self.models, self.store, world.clock, self.tasks)

    async def sign_in(self, **options: Any) -> None:
        begun = await self.accounts.login("mine", "sign-in")
        async with aiohttp.ClientSession() as browser, browser.get(begun["url"], **options) as page:
            assert page.status == 200
        assert await self.accounts.wait(begun["state"], LIMIT_S) is True

    async def call(self, ref: str = "mine@sign-in") -> None:
        model = await self.models.resolve(ref)
        async for _ in model.provider.stream(ModelRequest("m", "", (user_message("hi"),))):
            pass


@pytest.fixture
async def oauth() -> AsyncIterator[OAuthServer]:
    async with oauth_server() as server:
        yield server


@pytest.fixture
async def rig(
    world: World, tmp_path: Path, oauth: OAuthServer, openai_server: OpenAIServer
) -> AsyncIterator[SignInRig]:
    made = SignInRig(world, tmp_path / "storage", oauth, openai_server)
    yield made
    await made.accounts.close()
    await made.tasks.cancel_all()


def keys_used(server: OpenAIServer) -> list[str]:
    return [each["headers"].get("authorization", "-").removeprefix("Bearer ") for each in server.requests()]


async def test_a_sign_in_in_the_browser_comes_back_by_itself_and_is_used(
    rig: SignInRig, openai_server: OpenAIServer
) -> None:
    waiting = asyncio.create_task(rig.sign_in())
    await waiting
    await rig.call()

    assert keys_used(openai_server) == ["access-1-not-a-secret"]
    assert rig.accounts.all() == [
        {
            "provider": "mine",
            "id": "sign-in",
            "kind": "oauth",
            "expires": rig.world.clock.time() + 3_600,
            "renews": True,
            "account": "me@example.org",
        }
    ]
    assert {"access-1-not-a-secret", "refresh-1-not-a-secret"} <= set(rig.hidden)


@pytest.mark.parametrize("form", ["{back}?code={code}&state={state}", "?code={code}&state={state}", "{code}#{state}"])
async def test_the_address_of_the_browser_can_be_pasted_instead(rig: SignInRig, form: str) -> None:
    begun = await rig.accounts.login("mine", "sign-in")
    async with (
        aiohttp.ClientSession() as browser,
        browser.get(begun["url"], allow_redirects=False) as page,
    ):
        code = page.headers["Location"].partition("code=")[2].partition("&")[0]

    await rig.accounts.complete(begun["state"], form.format(back=rig.back, code=code, state=begun["state"]))

    assert [each["id"] for each in rig.accounts.all()] == ["sign-in"]
    with pytest.raises(NotFound, match="over"):
        await rig.accounts.complete(begun["state"], "again")


@pytest.mark.parametrize(
    ("pasted", "kind", "words"),
    [
        ("", InvalidRequest, "whole address"),
        ("http://localhost:1/back?code=x&state=another", InvalidRequest, "another sign-in"),
        ("x#another", InvalidRequest, "another sign-in"),
        ("http://localhost:1/back?code=x", InvalidRequest, "has no state"),
        ("http://localhost:1/back?state=mine", InvalidRequest, "no code"),
        ("http://localhost:1/back?error=access_denied&error_description=you+said+no", AuthError, "you said no"),
        ("x" * 9_000, InvalidRequest, "whole address"),
    ],
)
def test_what_is_pasted_wrong_says_so(pasted: str, kind: type[HubError], words: str) -> None:
    with pytest.raises(kind, match=words):
        code_of(pasted, "mine")


async def test_a_stranger_at_the_way_back_completes_nothing(rig: SignInRig) -> None:
    begun = await rig.accounts.login("mine", "sign-in")

    async with aiohttp.ClientSession() as browser:
        for query in ("?code=x&state=guessed", "?code=x", "?error=no&state=guessed"):
            async with browser.get(f"{rig.back}{query}") as page:
                assert page.status == 400
        async with browser.get(f"{rig.back}?code=x&state={begun['state']}", headers={"Host": "evil.example"}) as page:
            assert page.status == 403

    assert rig.accounts.all() == []
    assert await rig.accounts.wait(begun["state"], 0) is False


async def test_a_sign_in_that_nobody_completes_ends(rig: SignInRig) -> None:
    begun = await rig.accounts.login("mine", "sign-in")
    waiting = asyncio.create_task(rig.accounts.wait(begun["state"], LIMIT_S))
    await asyncio.sleep(0)

    await rig.world.clock.advance(601)

    with pytest.raises(NotFound, match="ten minutes"):
        await waiting


async def test_tokens_are_renewed_before_they_end_and_only_once(rig: SignInRig, openai_server: OpenAIServer) -> None:
    await rig.sign_in()
    await rig.call()
    await rig.world.clock.advance(3_400)
    asked = len(rig.oauth.asked)

    await asyncio.gather(*(rig.call() for _ in range(5)))

    assert [each["grant_type"] for each in rig.oauth.asked[asked:]] == ["refresh_token"]
    assert set(keys_used(openai_server)[1:]) == {"access-2-not-a-secret"}
    again = ModelCredentials(rig.folder, rig.world.clock, lambda _: None)
    again.load()
    assert again.get("mine", "sign-in").refresh == Secret("refresh-2-not-a-secret")


async def test_what_another_process_renewed_is_not_renewed_again(rig: SignInRig) -> None:
    await rig.sign_in()
    other = ModelCredentials(rig.folder, rig.world.clock, lambda _: None)
    other.load()
    await rig.world.clock.advance(3_400)
    endpoint = rig.models.oauth("mine")

    async def refresh(stored: StoredCredential) -> StoredCredential:
        return await refresh_credential(endpoint, stored, rig.world.clock.time())

    found = await asyncio.gather(*(each.current("mine", "sign-in", refresh) for each in (rig.store, other)))

    assert found[0] == found[1]
    assert [each["grant_type"] for each in rig.oauth.asked].count("refresh_token") == 1


async def test_a_refresh_token_that_is_not_replaced_stays(rig: SignInRig) -> None:
    rig.oauth.rotates = False
    await rig.sign_in()
    for _ in range(2):
        await rig.world.clock.advance(3_400)
        await rig.call()

    assert rig.store.get("mine", "sign-in").refresh == Secret("refresh-1-not-a-secret")


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ((400, {"error": "invalid_grant"}), AuthError, "homarus models auth login mine --id sign-in"),
        ((503, "busy"), Overloaded, "answers 503"),
        ((200, ["no", "object"]), Overloaded, "answers 200"),
        ((200, {"access_token": ""}), Overloaded, "no usable token"),
    ],
)
async def test_a_refused_renewal_says_what_to_do_and_keeps_what_there_was(
    rig: SignInRig, fault: tuple[int, Any], kind: type[HubError], words: str
) -> None:
    await rig.sign_in()
    await rig.world.clock.advance(3_400)
    rig.oauth.fault = fault

    with pytest.raises(kind, match=words):
        await rig.call()

    assert rig.store.get("mine", "sign-in").refresh == Secret("refresh-1-not-a-secret")
    rig.oauth.fault = None
    await rig.call()


async def test_an_identity_is_exchanged_for_a_key_that_does_not_end(
    world: World, tmp_path: Path, oauth: OAuthServer, openai_server: OpenAIServer
) -> None:
    rig = SignInRig(world, tmp_path / "storage", oauth, openai_server, api_key_exchange=True)

    await rig.sign_in()
    await rig.call()

    assert keys_used(openai_server) == ["sk-exchanged-not-a-secret"]
    assert rig.accounts.all()[0]["expires"] is None
    assert rig.oauth.asked[-1]["requested_token"] == "openai-api-key"
    await rig.tasks.cancel_all()


async def test_a_key_is_tried_kept_and_used_and_one_that_is_refused_is_not(
    rig: SignInRig, openai_server: OpenAIServer
) -> None:
    kept = await rig.accounts.add("mine", "work", " sk-good ", CredentialKind.API_KEY)
    openai_server.queue({"status": 401, "body": {"error": {"message": "Invalid API key"}}})
    with pytest.raises(AuthError, match="was not kept"):
        await rig.accounts.add("mine", "bad", "sk-bad", CredentialKind.API_KEY)

    assert kept["test"]["ok"] is True
    assert [each["id"] for each in rig.accounts.all()] == ["work"]
    assert "sk-good" not in str(kept)
    await rig.call("mine@work")
    assert keys_used(openai_server)[-1] == "sk-good"
    await rig.accounts.remove("mine", "work")
    with pytest.raises(NotFound, match="no credential work"):
        await rig.models.resolve("m@work")


@pytest.mark.parametrize(
    ("provider", "id", "key", "kind", "words"),
    [
        ("nobody", "work", "k", "api_key", "no provider 'nobody'"),
        ("mine", "default", "k", "api_key", "is api_key"),
        ("mine", "../x", "k", "api_key", "small letters"),
        ("mine", "work", "two\nlines", "api_key", "one line"),
        ("mine", "work", "  ", "api_key", "one line"),
        ("anthropic", "work", "sk-ant-api03-x", "setup_token", "begins with sk-ant-oat"),
    ],
)
async def test_a_key_that_is_none_is_refused(
    rig: SignInRig, provider: str, id: str, key: str, kind: str, words: str
) -> None:
    with pytest.raises(HubError, match=words):
        await rig.accounts.add(provider, id, key, CredentialKind(kind))

    assert rig.accounts.all() == []


async def test_a_vendor_is_usable_by_its_added_key_alone(rig: SignInRig) -> None:
    await rig.store.put(StoredCredential("openai", "work", CredentialKind.API_KEY, Secret("sk-x")))
    rig.models.reread()

    assert (await rig.models.resolve("openai")).credential == "work"
    assert rig.models.describe("auto")["ref"] == "mine/m"


async def test_models_are_tried_with_every_key(rig: SignInRig, openai_server: OpenAIServer) -> None:
    await rig.accounts.add("mine", "work", "sk-work", CredentialKind.API_KEY)
    await rig.accounts.add("mine", "spare", "sk-spare", CredentialKind.API_KEY)
    openai_server.rule("word ok", "ok")

    found = await rig.accounts.test("mine/m")

    assert [(each["credential"], each["ok"]) for each in found] == [("work", True), ("spare", True)]


@pytest.mark.parametrize("damage", [lambda data: data[:-20], lambda data: data.replace(b"work", b"w\xffrk")])
async def test_the_file_is_its_owners_alone_and_a_damaged_one_is_set_aside(
    rig: SignInRig, damage: Callable[[bytes], bytes]
) -> None:
    await rig.store.put(StoredCredential("mine", "work", CredentialKind.API_KEY, Secret("sk-x")))
    path = rig.folder / FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "sk-x" not in repr(rig.store.all())

    path.write_bytes(damage(path.read_bytes()))
    rig.store.load()

    assert rig.store.all() == []
    assert [each.name for each in rig.folder.glob(f"{FILE}.damaged-*")]


def test_the_page_carries_a_challenge_and_never_the_verifier() -> None:
    begun = begin_sign_in(PRESETS["openai"])

    assert begun.verifier not in begun.url
    assert "code_challenge_method=S256" in begun.url
    assert begun.state in begun.url
    assert begin_sign_in(PRESETS["openai"]).state != begun.state


async def test_a_provider_without_a_sign_in_says_what_to_do_instead(rig: SignInRig) -> None:
    with pytest.raises(InvalidRequest, match="homarus models auth add groq"):
        await rig.accounts.login("groq", "x")


async def test_a_port_that_is_taken_leaves_the_pasting(rig: SignInRig) -> None:
    await rig.accounts.login("mine", "one")

    assert (await rig.accounts.login("mine", "two"))["listens"] is False
