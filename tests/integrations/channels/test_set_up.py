"""Discord, Slack, ntfy, Nextcloud Talk, Mattermost, Signal and WeCom from their sections of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pytest

from hub.core.schema import SchemaError
from hub.messaging.contract import ChannelState
from tests.hosting import host_on
from tests.integrations.channels.rig import Rig
from tests.servers.dingtalk_server import CLIENT_ID, CLIENT_SECRET, DingTalkServer
from tests.servers.discord_server import TOKEN, DiscordServer
from tests.servers.feishu_server import APP_ID, APP_SECRET, FeishuServer
from tests.servers.mattermost_server import TOKEN as MATTERMOST_TOKEN, MattermostServer
from tests.servers.nextcloud_server import LOGIN, PASSWORD, NextcloudServer
from tests.servers.ntfy_server import ADAS, TOKEN as NTFY_TOKEN, NtfyServer
from tests.servers.qq_server import APP_ID as QQ_ID, SECRET as QQ_SECRET, QQServer
from tests.servers.signal_server import NUMBER, SignalServer
from tests.servers.slack_server import APP_TOKEN, BOT_TOKEN, SlackServer
from tests.servers.wecom_server import BOT_ID, SECRET, WeComServer


def written(domain: str, server: Any) -> dict[str, Any]:
    """What somebody writes into the configuration."""
    match domain:
        case "discord":
            return {"token": TOKEN, "api_root": server.root, "gateway_url": f"ws://{server.address}/gateway"}
        case "qq":
            secrets = {"app_id": QQ_ID, "app_secret": QQ_SECRET}
            return {**secrets, "api_root": server.root, "token_url": server.token_url}
        case "slack":
            return {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN, "api_root": server.root}
        case "feishu":
            return {"app_id": APP_ID, "app_secret": APP_SECRET, "api_root": server.root}
        case "dingtalk":
            login = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
            return {**login, "api_root": server.root, "oapi_root": server.root}
        case "wecom":
            return {"bot_id": BOT_ID, "secret": SECRET, "ws_url": server.url}
        case "mattermost":
            return {"url": server.url, "token": MATTERMOST_TOKEN}
        case "nextcloud_talk":
            return {"url": server.url, "user": LOGIN, "app_password": PASSWORD}
        case "ntfy":
            return {"url": server.url, "topics": ADAS, "token": NTFY_TOKEN}
    return {"number": NUMBER, "url": server.url}


@pytest.mark.parametrize(
    ("domain", "make", "broken"),
    [
        ("discord", DiscordServer, {"token": "revoked"}),
        ("qq", QQServer, {"app_secret": "revoked"}),
        ("slack", SlackServer, {"bot_token": "revoked"}),
        ("mattermost", MattermostServer, {"token": "revoked"}),
        ("nextcloud_talk", NextcloudServer, {"app_password": "revoked"}),
        ("ntfy", NtfyServer, {"token": "revoked"}),
        ("signal", SignalServer, {"number": "+4900000000"}),
        ("feishu", FeishuServer, {"app_secret": "revoked"}),
        ("dingtalk", DingTalkServer, {"client_secret": "revoked"}),
        ("wecom", WeComServer, {"secret": "revoked"}),
    ],
)
async def test_each_account_is_logged_in_and_a_broken_one_leaves_the_others(
    rig: Rig, domain: str, make: type[Any], broken: Mapping[str, Any]
) -> None:
    package = f"integrations.channels.{domain}"
    schema = import_module(f"{package}.schema").CONFIG_SCHEMA
    async with make() as server:
        good = written(domain, server)
        config = schema([{**good, **broken, "account": "broken"}, good])
        host, registrations = host_on(rig, domain)

        await import_module(package).setup(host, config)

        states = {each.channel.account: each for each in rig.channels.all()}
        await rig.until(lambda: states["default"].status.state is ChannelState.CONNECTED)
        await rig.until(lambda: states["broken"].status.state in (ChannelState.FAILED, ChannelState.DISCONNECTED))
        await registrations.undo_all()

    assert rig.channels.all() == []
    assert [each["account"] for each in schema(good)] == ["default"]


@pytest.mark.parametrize(
    ("domain", "section", "says"),
    [
        ("discord", {}, "required"),
        ("discord", {"token": "t", "gateway_url": "https://x"}, "ws:// or wss://"),
        ("qq", {"app_id": "1"}, "required"),
        ("qq", {"app_id": "1", "app_secret": "s", "token_url": "x"}, "http"),
        ("slack", {"bot_token": "t"}, "required"),
        ("slack", {"bot_token": "t", "app_token": "a", "api_root": "slack"}, "http"),
        ("mattermost", {"url": "https://x", "token": "t", "account": "Über uns"}, "lower-case letters"),
        ("nextcloud_talk", {"url": "https://x", "user": "u"}, "required"),
        ("ntfy", {"topics": "a topic"}, "names of topics"),
        ("signal", {"number": "1"}, "phone number"),
        ("feishu", {"app_id": "cli_1"}, "required"),
        ("feishu", {"app_id": "cli_1", "app_secret": "s", "region": "us"}, "feishu"),
        ("feishu", {"app_id": "cli_1", "app_secret": "s", "encrypt_key": "short"}, "characters"),
        ("dingtalk", {"client_id": "ding1"}, "required"),
        ("wecom", {"bot_id": "b"}, "required"),
        ("wecom", {"bot_id": "b", "secret": "s", "ws_url": "https://x"}, "wss://"),
    ],
)
def test_what_is_missing_or_malformed_is_said(domain: str, section: dict[str, Any], says: str) -> None:
    schema = import_module(f"integrations.channels.{domain}.schema").CONFIG_SCHEMA

    with pytest.raises(SchemaError, match=says):
        schema([section])
