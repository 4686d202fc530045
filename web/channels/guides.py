"""Guides to each chat app: its icon, one line, and the way to its key. The texts are message ids."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class ChannelGuide(Struct, frozen=True):
    """The content of a chat app's tile, and the text above its form.

    Attributes:
        icon: One of `web/frontend/icons.json`.
        line: Its purpose, in a line.
        steps: How to get the values for its form.
    """

    icon: str = "message-circle"
    line: str = ""
    steps: tuple[str, ...] = ()


GUIDES: Mapping[str, ChannelGuide] = {
    "telegram": ChannelGuide(
        "send",
        "A bot of your own, ready in two minutes.",
        (
            "Open Telegram and write to @BotFather.",
            "Send it /newbot, and give the bot a name and a user name that ends in bot.",
            "Copy the token from its answer and paste it here.",
        ),
    ),
    "qq": ChannelGuide(
        "circle",
        "An official bot in QQ, which answers but cannot write first.",
        (
            "Sign up at q.qq.com and create a bot.",
            "In its development settings, copy the AppID and the AppSecret.",
            "Add the bot in QQ by its code, and write to it.",
        ),
    ),
    "whatsapp": ChannelGuide(
        "smartphone",
        "Meta's platform for businesses: a number of its own, and an address on the internet.",
        (
            "Open developers.facebook.com and create an app of the type Business with the product WhatsApp.",
            "In WhatsApp, API Setup, copy the access token and the phone number ID.",
            "In the app's basic settings, copy the app secret.",
        ),
    ),
    "whatsapp_web": ChannelGuide(
        "qr-code",
        "A number of your own, linked like WhatsApp Web; unofficial, so that Meta may ban the number.",
        (
            "Better take a number for the assistant alone: Meta bans numbers that use unofficial clients.",
            "Type true under Accept risk, and connect.",
            "Then scan the code with that phone: WhatsApp, Settings, Linked devices.",
        ),
    ),
    "signal": ChannelGuide(
        "shield",
        "End-to-end encrypted, by a signal-cli server in your home.",
        (
            "Start signal-cli's REST server in your home.",
            "Link it to your Signal account, or register a number for it.",
            "Write its address and the number here.",
        ),
    ),
    "discord": ChannelGuide(
        "users",
        "A bot in your server, and in direct messages.",
        (
            "Open discord.com/developers and create an application.",
            "On the page Bot, switch on Message Content Intent, and copy the token.",
            "On the page OAuth2, make a link with the scope bot, and invite it to your server.",
        ),
    ),
    "slack": ChannelGuide(
        "inbox",
        "An app in your workspace.",
        (
            "Open api.slack.com/apps, create an app, and switch on Socket Mode.",
            "Install it to the workspace, and copy the bot token, which begins with xoxb-.",
            "Create a token for the app itself, which begins with xapp-.",
        ),
    ),
    "wecom": ChannelGuide(
        "square",
        "An AI bot in your company's WeCom; nothing on the internet needs to reach your home.",
        (
            "In WeCom, open the Workbench, then Smart Bot, and create a bot by hand in API mode.",
            "Choose the long connection, and copy the Bot ID and the Secret.",
            "Name the people who may see the bot, and write to it once.",
        ),
    ),
    "mattermost": ChannelGuide(
        "server",
        "A bot on a Mattermost server.",
        (
            "In Mattermost, open Integrations, Bot Accounts, and add a bot account.",
            "Copy its token, which is shown once, and write the address of the server here.",
            "Add the bot to your team, and to each channel where it is to listen.",
        ),
    ),
    "feishu": ChannelGuide(
        "sparkles",
        "The bot of an app of your own in Feishu or Lark; nothing on the internet needs to reach your home.",
        (
            "Open open.feishu.cn/app or open.larksuite.com/app, create a custom app, and add the feature Bot.",
            "Copy the App ID and the App Secret, and allow what the guide lists under Permissions.",
            "Save this form first; then choose persistent connection in Events and Callbacks, and publish a version.",
        ),
    ),
    "msteams": ChannelGuide(
        "layout-grid",
        "A bot in chats and channels of Microsoft Teams; needs an address on the internet.",
        (
            "In the Azure portal, create an Azure Bot of the type Single Tenant.",
            "From its configuration, copy the App ID and the tenant ID, and create a client secret.",
            "Add the channel Microsoft Teams, and set the messaging endpoint to /msteams/default at your address.",
            "Upload the app package from the documentation to Teams.",
        ),
    ),
    "nextcloud_talk": ChannelGuide(
        "cloud-sun",
        "A user of its own on a Nextcloud with Talk.",
        (
            "In Nextcloud, create an account for the assistant, and sign in as it.",
            "In its settings, Security, create an app password, and write it here with the user name.",
            "In Talk, start a conversation with it, and write to it.",
        ),
    ),
    "google_chat": ChannelGuide(
        "message-circle",
        "An app in your Google Workspace, by Pub/Sub or an address on the internet.",
        (
            "In the Google Cloud console, enable the Chat API, and create a service account with a JSON key.",
            "Configure the Chat app for Cloud Pub/Sub, or for the HTTP endpoint /google_chat/default at your address.",
            "Paste the whole JSON here, with the subscription or the authentication audience.",
        ),
    ),
    "dingtalk": ChannelGuide(
        "zap",
        "The robot of an app of your organisation in DingTalk; nothing on the internet needs to reach your home.",
        (
            "Open open-dev.dingtalk.com, create an app for your organisation, and add a robot to it in Stream mode.",
            "Copy the Client ID and the Client Secret from Credentials, and publish a version.",
            "Write to the robot in DingTalk, or add it to a group and mention it.",
        ),
    ),
    "ntfy": ChannelGuide(
        "bell",
        "Notifications of the ntfy app, and answers to them.",
        (
            "Think of a topic with a long random name for each person: who knows it reads and writes it.",
            "Subscribe to it in the ntfy app.",
            "Write the topics here, and the address of the server and a token if it is your own.",
        ),
    ),
    "matrix": ChannelGuide(
        "layout-grid",
        "An account on any Matrix server.",
        (
            "Create an account for the assistant on your Matrix server.",
            "Write its address here, and sign it in with its password or an access token.",
        ),
    ),
    "imessage": ChannelGuide(
        "message-circle",
        "Through a BlueBubbles server on a Mac of yours.",
        (
            "Install BlueBubbles on a Mac that is signed in to Messages, and set a password there.",
            "Write the server's address and password here.",
        ),
    ),
    "email": ChannelGuide(
        "mail",
        "A mailbox that it reads and answers.",
        (
            "Create a mailbox for the assistant; do not use your own.",
            "Look up its servers for IMAP and SMTP, and create a password for apps if your provider wants one.",
        ),
    ),
    "line": ChannelGuide(
        "message-circle",
        "An official account on LINE; needs an address on the internet.",
        (
            "Open manager.line.biz, create an official account, and switch on the Messaging API in its settings.",
            "Open developers.line.biz, choose its channel, and copy the channel secret.",
            "On the page Messaging API, issue a channel access token and copy it.",
        ),
    ),
    "zalo": ChannelGuide(
        "message-circle",
        "A bot of your own on Zalo.",
        (
            "Open Zalo and write to the official account Zalo Bot Manager.",
            "Create a bot and give it a name.",
            "Copy the token from its answer and paste it here.",
        ),
    ),
    "zalo_oa": ChannelGuide(
        "users",
        "An official account of a business on Zalo; needs an address on the internet.",
        (
            "Open developers.zalo.me, add an app, and link it with your official account.",
            "Copy the app's id and secret key, and the OA secret key of its webhook.",
            "In the API Explorer, sign in as the official account and copy the refresh token.",
        ),
    ),
    "sms": ChannelGuide(
        "smartphone",
        "A telephone number at Twilio; needs an address on the internet, and each message costs.",
        (
            "Open console.twilio.com and buy a number that has SMS.",
            "Copy the Account SID and the Auth Token.",
            "In the number's settings, let messages come in at the address of the hub.",
        ),
    ),
    "irc": ChannelGuide(
        "terminal",
        "A nickname on an IRC network.",
        ("Choose a network and a nickname.", "Register the nickname if the network wants that."),
    ),
    "voice_call": ChannelGuide(
        "smartphone",
        "A telephone number that the assistant answers; needs an address on the internet.",
        (
            "Open console.twilio.com, and copy the Account SID and the Auth Token.",
            "Buy a number for voice, and send its calls to your home's address with /voice_call/default.",
            "Choose a model that speaks, and one that turns speech into text.",
        ),
    ),
    "webhook_chat": ChannelGuide("link", "Any program that can send and receive a web request."),
    "webchat_page": ChannelGuide("globe", "A chat on a web page of your own."),
}


def guide_of(channel: str) -> ChannelGuide:
    """Return the guide of a chat app; of an unknown one, a plain icon."""
    return GUIDES.get(channel, ChannelGuide())
