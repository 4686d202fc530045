"""E-mail with OAuth: access tokens for a real Dovecot and for SMTP, renewed in time, and what refusals mean."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import Clock, ManualClock
from hub.core.errors import HubError, Unavailable
from hub.core.schema import Invalid
from hub.core.secret import Secret
from hub.integration.json_storage import JsonStorage
from hub.messaging.contract import DeliveryState, OutboundMessage
from integrations.channels.email.login import MailLogin, MailOAuth
from integrations.channels.email.mailbox import MailboxAccount
from integrations.channels.email.schema import CONFIG_SCHEMA
from integrations.channels.reconnecting import AccountRefused
from tests.channels.email_rig import EmailRig, mail
from tests.channels.kit import Heard
from tests.servers.mail_server import access_token
from tests.servers.oauth_server import OAuthServer, oauth_server
from tests.until import until

FIRST = "refresh-0-not-a-secret"
ACCOUNT: dict[str, Any] = {"address": "home@home.test", "imap_host": "i", "smtp_host": "s", "authserv_id": "m"}
REGISTERED = {"client_id": "an-app", "client_secret": "kept-back", "refresh_token": FIRST}


@pytest.fixture
async def provider() -> AsyncIterator[OAuthServer]:
    async with oauth_server() as server:
        server.refresh = FIRST
        yield server


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def rig() -> AsyncIterator[EmailRig]:
    rig = EmailRig()
    await rig.start()
    yield rig
    await rig.stop()


def oauth(provider: OAuthServer, refresh_token: str = FIRST) -> MailOAuth:
    return MailOAuth(f"{provider.base_url}/token", "an-app", Secret(refresh_token), Secret("kept-back"))


def login(provider: OAuthServer, folder: Path, clock: Clock, refresh_token: str = FIRST) -> MailLogin:
    return MailLogin(oauth(provider, refresh_token), JsonStorage(folder / "tokens.json"), clock)


async def test_a_mailbox_is_read_and_answered_from_with_an_access_token(
    provider: OAuthServer, rig: EmailRig, tmp_path: Path
) -> None:
    heard = Heard()
    channel = rig.channel(tmp_path, Clock(), oauth=oauth(provider))
    token = rig.smtp.token = access_token(rig.mailbox())
    provider.access_of = lambda _: token
    await channel.start(heard)
    await until(lambda: heard.account_id is not None)
    rig.delivers(mail("When?"))
    await until(lambda: bool(heard.inbound))

    delivery = await channel.send(OutboundMessage("o1", rig.address(), "At ten."))
    await channel.stop()

    assert delivery.state is DeliveryState.DELIVERED
    assert rig.shows() == ["At ten."]
    assert [(each["client_id"], each["client_secret"]) for each in provider.asked] == [("an-app", "kept-back")]


async def test_a_token_that_the_mail_servers_refuse_takes_a_person(
    provider: OAuthServer, rig: EmailRig, tmp_path: Path
) -> None:
    heard = Heard()
    channel = rig.channel(tmp_path, Clock(), oauth=oauth(provider))
    provider.access_of = lambda _: access_token("somebody-else")
    await channel.start(heard)
    await until(lambda: bool(heard.errors))

    delivery = await channel.send(OutboundMessage("o1", rig.address(), "hello"))
    await channel.stop()

    assert "does not accept" in heard.errors[0]
    assert "docs/channels/email.md" in heard.errors[0]
    assert delivery.state is DeliveryState.TRANSIENT
    assert "535" in str(delivery.error)


async def test_an_access_token_is_used_until_shortly_before_it_ends(
    provider: OAuthServer, clock: ManualClock, tmp_path: Path
) -> None:
    mailbox = login(provider, tmp_path, clock)

    first = [await mailbox.secret(), await mailbox.secret()]
    await clock.advance(3_590)
    second = await mailbox.secret()

    assert [each.reveal() for each in (*first, second)] == [f"access-{n}-not-a-secret" for n in (1, 1, 2)]


async def test_a_refresh_token_that_was_replaced_is_known_after_a_restart_and_a_new_one_takes_its_place(
    provider: OAuthServer, clock: ManualClock, tmp_path: Path
) -> None:
    await login(provider, tmp_path, clock).secret()
    await login(provider, tmp_path, clock).secret()
    provider.refresh = "from-a-person-not-a-secret"
    await login(provider, tmp_path, clock, provider.refresh).secret()

    assert [each["refresh_token"] for each in provider.asked] == [
        FIRST,
        "refresh-1-not-a-secret",
        "from-a-person-not-a-secret",
    ]


async def test_a_provider_that_refuses_takes_a_person_and_one_that_is_down_does_not(
    provider: OAuthServer, clock: ManualClock, tmp_path: Path
) -> None:
    mailbox = login(provider, tmp_path, clock, "revoked-not-a-secret")
    with pytest.raises(AccountRefused, match=r"the grant is no longer good.* Get another refresh_token"):
        await mailbox.secret()

    provider.fault = (503, {})
    with pytest.raises(HubError, match="answers 503"):
        await mailbox.secret()


async def test_an_older_access_token_that_is_refused_is_replaced_once(
    provider: OAuthServer, clock: ManualClock, tmp_path: Path
) -> None:
    mailbox = login(provider, tmp_path, clock)
    await mailbox.secret()
    await clock.advance(600)

    assert isinstance(mailbox.refusal("no"), Unavailable)
    assert (await mailbox.secret()).reveal() == "access-2-not-a-secret"
    assert isinstance(mailbox.refusal("no"), AccountRefused)


@pytest.mark.parametrize(
    ("stated", "token_url"),
    [
        ({"provider": "google"}, "https://oauth2.googleapis.com/token"),
        ({"provider": "microsoft"}, "https://login.microsoftonline.com/common/oauth2/v2.0/token"),
        ({"token_url": "https://login.example.org/token"}, "https://login.example.org/token"),
    ],
)
def test_the_token_endpoint_is_that_of_the_provider(stated: dict[str, Any], token_url: str) -> None:
    (account,) = CONFIG_SCHEMA([{**ACCOUNT, "oauth": {**REGISTERED, **stated}}])
    read = MailboxAccount.from_config(account).credential

    assert isinstance(read, MailOAuth)
    assert (read.token_url, read.refresh_token) == (token_url, Secret(FIRST))


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({}, "password .* or oauth .*, and only one of them"),
        (
            {"password": "x", "oauth": REGISTERED | {"provider": "google"}},
            "password .* or oauth .*, and only one of them",
        ),
        ({"oauth": REGISTERED}, "either provider"),
        ({"oauth": REGISTERED | {"provider": "google", "token_url": "https://x.test/token"}}, "either provider"),
        ({"oauth": REGISTERED | {"provider": "yahoo"}}, "google"),
        ({"oauth": REGISTERED | {"provider": "google", "scope": "all"}}, "only with token_url"),
        ({"oauth": {"client_id": "an-app", "token_url": "https://x.test/token"}}, "expected refresh_token, or"),
    ],
)
def test_a_login_that_is_not_clear_is_an_error_of_the_configuration(more: dict[str, Any], error: str) -> None:
    with pytest.raises(Invalid, match=error):
        CONFIG_SCHEMA([{**ACCOUNT, **more}])
