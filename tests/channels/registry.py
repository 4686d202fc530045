"""The channels that the suite runs against."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.channels import imessage_node_rig, imessage_rig, whatsapp_web_rig
from tests.channels.dingtalk_rig import DingTalkRig
from tests.channels.discord_rig import DiscordRig
from tests.channels.email_rig import EmailRig
from tests.channels.feishu_rig import FeishuRig
from tests.channels.google_chat_rig import GoogleChatPullRig, GoogleChatRig
from tests.channels.irc_rig import IrcRig
from tests.channels.kit import Can, Forged, Named, Rig, Trouble
from tests.channels.line_rig import LineRig
from tests.channels.matrix_rig import MatrixRig
from tests.channels.mattermost_rig import MattermostRig
from tests.channels.msteams_rig import TeamsRig
from tests.channels.nextcloud_talk_rig import NextcloudTalkRig
from tests.channels.ntfy_rig import NtfyRig
from tests.channels.qq_rig import QQRig
from tests.channels.signal_rig import SignalRig
from tests.channels.slack_rig import SlackRig
from tests.channels.sms_rig import SmsRig
from tests.channels.telegram_rig import TelegramRig
from tests.channels.voice_call_rig import VoiceCallRig
from tests.channels.webchat_page_rig import WebchatPageRig
from tests.channels.webhook_chat_rig import WebhookRig
from tests.channels.wecom_rig import WeComRig
from tests.channels.whatsapp_rig import WhatsAppRig
from tests.channels.xmpp_rig import XmppRig
from tests.channels.zalo_oa_rig import ZaloOaRig
from tests.channels.zalo_rig import ZaloRig

RIGS: tuple[Callable[[], Rig], ...] = (
    DingTalkRig,
    whatsapp_web_rig.WhatsAppWebRig,
    imessage_rig.IMessageRig,
    imessage_node_rig.IMessageNodeRig,
    FeishuRig,
    EmailRig,
    TelegramRig,
    DiscordRig,
    SlackRig,
    SignalRig,
    WhatsAppRig,
    GoogleChatPullRig,
    GoogleChatRig,
    TeamsRig,
    WeComRig,
    QQRig,
    WebhookRig,
    WebchatPageRig,
    MatrixRig,
    XmppRig,
    MattermostRig,
    NextcloudTalkRig,
    NtfyRig,
    IrcRig,
    VoiceCallRig,
    LineRig,
    ZaloRig,
    ZaloOaRig,
    SmsRig,
)


def rigs_that(
    *needs: Can | Trouble | Forged | Named, where: Callable[[Rig], bool] = lambda rig: True
) -> pytest.MarkDecorator:
    """Mark a test to run against each channel whose platform has all of this, and of which something holds."""
    able = [
        rig for rig in RIGS if {*needs} <= (has := rig()).can | has.troubles | has.forges | has.named and where(has)
    ]
    return pytest.mark.parametrize("rig", able, ids=lambda rig: rig().name, indirect=True)
