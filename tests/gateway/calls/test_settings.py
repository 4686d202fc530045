"""What the configuration may say, and the binds that are refused."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable
from ipaddress import ip_network
from pathlib import Path

import aiohttp
import pytest
from multidict import CIMultiDict

from hub.core.errors import HubError
from hub.core.schema import SchemaError
from hub.core.secret import Secret
from hub.gateway.access.start_check import StartRefused
from hub.gateway.calls.schema import HTTP_SCHEMA
from hub.gateway.calls.settings import AuthMode, HttpSettings
from hub.security.people import People, Person
from tests.gateway.certificates import certificate
from tests.gateway.rig import Rig, client_of, connected, running

PASSWORD = "a-long-enough-passphrase"


def test_an_empty_section_is_loopback_with_tokens(tmp_path: Path) -> None:
    settings = HttpSettings.from_config(None, tmp_path)

    assert (settings.host, settings.port, settings.mode) == ("127.0.0.1", 18789, AuthMode.TOKEN)
    assert settings.loopback


def test_the_command_line_wins(tmp_path: Path) -> None:
    settings = HttpSettings.from_config({"port": 1}, tmp_path, host="0.0.0.0", port=2)

    assert (settings.host, settings.port) == ("0.0.0.0", 2)


@pytest.mark.parametrize(
    "section",
    [
        {"host": "everywhere"},
        {"host": 1},
        {"port": 70000},
        {"port": "18789"},
        {"auth": {"mode": "open"}},
        {"auth": {"user_header": "X: y"}},
        {"tls": {"certificate": "a"}},
        {"allowed_hosts": ["http://x"]},
        {"allowed_hosts": "x"},
        {"trusted_proxies": ["somewhere"]},
        {"limits": {"sockets": 0}},
        {"made_up": 1},
    ],
)
def test_a_bad_section_is_refused(section: dict[str, object]) -> None:
    with pytest.raises(SchemaError):
        HTTP_SCHEMA(section)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        (HttpSettings(host="0.0.0.0", port=0, mode=AuthMode.NONE), "http: auth"),
        (HttpSettings(host="::", port=0, mode=AuthMode.NONE), "http: auth"),
        (HttpSettings(port=0, mode=AuthMode.PASSWORD), "password"),
        (HttpSettings(port=0, mode=AuthMode.PASSWORD, password=Secret("short")), "password"),
        (HttpSettings(port=0, mode=AuthMode.TRUSTED_PROXY), "trusted_proxies"),
        (
            HttpSettings(port=0, mode=AuthMode.TRUSTED_PROXY, trusted_proxies=(ip_network("127.0.0.1"),)),
            "proxy_secret",
        ),
        (HttpSettings(port=0, tls=(Path("/nowhere.pem"), Path("/nowhere.key"))), "/nowhere.pem"),
    ],
)
async def test_an_unsafe_start_is_refused_and_says_what_to_set(
    tmp_path: Path, settings: HttpSettings, word: str
) -> None:
    rig = Rig(tmp_path, settings)

    with pytest.raises(HubError, match=word):
        await rig.gateway.start()


async def test_a_taken_port_is_named(rig: Rig, tmp_path: Path) -> None:
    second = Rig(tmp_path / "second", HttpSettings(port=rig.port))

    with pytest.raises(StartRefused, match=str(rig.port)):
        await second.gateway.start()


async def test_plain_http_beyond_loopback_is_a_repair(tmp_path: Path) -> None:
    async with running(tmp_path, HttpSettings(host="0.0.0.0", port=0)) as rig:
        repairs = [repair.id for repair in rig.repairs.all()]

    assert repairs == ["plain_http"]


async def test_health_is_told_from_the_first_moment(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    rig = Rig(tmp_path)
    await rig.gateway.start()
    try:
        for path in ("/healthz", "/readyz"):
            async with http.get(f"{rig.url}{path}") as answer:
                assert answer.status == 503
                assert await answer.json() == {"status": "starting"}
        async with http.get(f"{rig.url}/v1/models") as answer:
            assert answer.status == 503
        rig.gateway.open()
        for path in ("/healthz", "/readyz"):
            async with http.get(f"{rig.url}{path}") as answer:
                assert answer.status == 200
                assert await answer.json() == {"status": "ok"}
    finally:
        await rig.close()


async def test_a_password_opens_the_door(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    settings = HttpSettings(port=0, mode=AuthMode.PASSWORD, password=Secret(PASSWORD))
    async with running(tmp_path, settings) as rig:
        async with http.post(f"{rig.url}/api/login", json={"password": PASSWORD}) as answer:
            right = answer.status
        async with http.post(f"{rig.url}/api/login", json={"password": "wrong-but-long-enough"}) as answer:
            wrong = answer.status, (await answer.json())["error"]["details"]["code"]
        async with client_of(rig) as client:
            hello = await client.connect(auth={"password": PASSWORD}, scopes=["operator.read"])

    assert right == 200
    assert wrong == (401, "AUTH_PASSWORD_MISMATCH")
    assert hello["payload"]["auth"]["scopes"] == ["operator.read"]


async def test_without_auth_only_direct_loopback_is_the_owner(tmp_path: Path) -> None:
    async with running(tmp_path, HttpSettings(port=0, mode=AuthMode.NONE)) as rig:
        async with client_of(rig) as client:
            local = await client.connect(scopes=["operator.read"])
        async with client_of(rig, headers={"X-Forwarded-For": "203.0.113.1"}) as client:
            forwarded = await client.connect(scopes=["operator.read"])

    assert local["ok"]
    assert forwarded["error"]["details"]["code"] == "AUTH_TOKEN_MISSING"


PROXY_SECRET = "a-secret-of-the-proxy-alone"
PEOPLE = People([Person("ada", "Ada", owner=True), Person("guest", "Guest")])


def behind_a_proxy(directory: Path) -> HttpSettings:
    auth = {"mode": "trusted_proxy", "proxy_secret": PROXY_SECRET}
    return HttpSettings.from_config({"port": 0, "auth": auth, "trusted_proxies": ["127.0.0.1"]}, directory)


async def post(rig: Rig, headers: Iterable[tuple[str, str]]) -> int:
    sent = [("Sec-Fetch-Site", "same-origin"), *headers]
    names = {name for name, _ in headers}
    url = f"{rig.url}/api/rpc"
    async with aiohttp.ClientSession() as session:
        chosen = CIMultiDict([each for each in sent if each[0] not in names or each in headers])
        async with session.post(url, json={"method": "x"}, headers=chosen) as answer:
            return answer.status


async def test_a_trusted_proxy_names_an_owner_and_nobody_else(tmp_path: Path) -> None:
    async with running(tmp_path, behind_a_proxy(tmp_path), PEOPLE) as rig:
        secret = ("X-Homarus-Proxy-Secret", PROXY_SECRET)
        statuses = {
            user: await post(rig, [secret, ("X-Forwarded-User", user), ("X-Forwarded-For", "203.0.113.1")])
            for user in ("ada", "guest", "nobody", "")
        }

    assert statuses == {"ada": 400, "guest": 401, "nobody": 401, "": 401}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([], 401),
        ([("X-Homarus-Proxy-Secret", "")], 401),
        ([("X-Homarus-Proxy-Secret", PROXY_SECRET[:-1])], 401),
        ([("X-Homarus-Proxy-Secret", PROXY_SECRET), ("X-Forwarded-User", "guest")], 400),
        ([("X-Homarus-Proxy-Secret", PROXY_SECRET), ("X-Homarus-Proxy-Secret", PROXY_SECRET)], 400),
        ([("X-Homarus-Proxy-Secret", PROXY_SECRET), ("Sec-Fetch-Site", "cross-site")], 403),
    ],
)
async def test_a_named_person_needs_the_proxys_secret_once_and_a_page_of_ours(
    tmp_path: Path, headers: list[tuple[str, str]], status: int
) -> None:
    async with running(tmp_path, behind_a_proxy(tmp_path), PEOPLE) as rig:
        assert await post(rig, [("X-Forwarded-User", "ada"), *headers]) == status


async def test_a_request_through_a_trusted_proxy_is_never_local(tmp_path: Path) -> None:
    async with running(tmp_path, behind_a_proxy(tmp_path), PEOPLE) as rig:
        assert await post(rig, [("Authorization", f"Bearer {rig.token}")]) == 401


async def test_without_auth_a_page_of_another_site_changes_nothing(tmp_path: Path) -> None:
    settings = HttpSettings(port=0, mode=AuthMode.NONE)
    async with running(tmp_path, settings) as rig:
        by_page = [await post(rig, [("Sec-Fetch-Site", site)]) for site in ("cross-site", "same-site", "none")]
        by_own_page = await post(rig, [])
        async with (
            aiohttp.ClientSession() as program,
            program.post(f"{rig.url}/api/rpc", json={"method": "x"}) as answer,
        ):
            by_program = "unknown method" in await answer.text()

    assert by_page == [403] * 3
    assert by_own_page == 400
    assert by_program


async def test_the_user_header_means_nothing_in_other_modes(rig: Rig, http: aiohttp.ClientSession) -> None:
    headers = {"X-Forwarded-User": "owner"}
    async with http.post(f"{rig.url}/api/rpc", json={"method": "x"}, headers=headers) as answer:
        assert answer.status == 401


async def test_https_is_served(tmp_path: Path) -> None:
    settings = HttpSettings(port=0, tls=certificate(tmp_path))
    async with running(tmp_path, settings) as rig:
        trust = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        trust.check_hostname = False
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session,
            session.get(f"{rig.url}/healthz") as answer,
        ):
            assert answer.status == 200
        assert rig.url.startswith("https://")


async def test_allowed_hosts_change_while_the_hub_runs(rig: Rig, http: aiohttp.ClientSession) -> None:
    headers = {"Host": "home.example"}
    async with http.get(f"{rig.url}/healthz", headers=headers) as answer:
        before = answer.status

    rig.gateway.configure(HttpSettings(allowed_hosts=frozenset({"home.example"})), People())
    async with http.get(f"{rig.url}/healthz", headers=headers) as answer:
        after = answer.status

    assert (before, after) == (403, 200)


async def test_any_loopback_address_will_do(tmp_path: Path) -> None:
    async with running(tmp_path, HttpSettings(host="127.0.0.2", port=0)) as rig, connected(rig) as client:
        assert client.nonce


async def test_an_address_of_the_lan_is_served_beside_loopback(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    address = _lan_address()
    async with running(tmp_path, HttpSettings(host=address, port=0)) as rig:
        async with connected(rig) as client:
            assert client.nonce
        async with http.get(f"http://{address}:{rig.port}/api/rpc", headers=rig.bearer) as answer:
            verb = answer.status
        async with http.post(
            f"http://{address}:{rig.port}/api/rpc", json={"method": "x"}, headers=rig.bearer
        ) as answer:
            from_the_lan = answer.status
        repairs = [repair.id for repair in rig.repairs.all()]

    assert verb == 405
    assert from_the_lan == 401
    assert repairs == ["plain_http"]


def _lan_address() -> str:
    """Return this machine's address in its network; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no network")
        return str(probe.getsockname()[0])
