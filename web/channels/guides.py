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
    "whatsapp_web": ChannelGuide(
        "qr-code",
        "Your own number, linked by a QR code; Meta may ban it.",
        (
            "Use a number for the assistant alone: Meta may ban numbers that use unofficial clients.",
            "Tick that you accept the risk, and connect.",
            "Then scan the code with that phone: WhatsApp, Settings, Linked devices.",
        ),
    ),
    "whatsapp": ChannelGuide(
        "smartphone",
        "A number at Meta's Cloud API; needs a public address.",
        (
            "Open developers.facebook.com and create an app of the type Business with the product WhatsApp.",
            "In WhatsApp, API Setup, copy the access token and the phone number ID.",
            "In the app's basic settings, copy the app secret.",
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
    "imessage": ChannelGuide(
        "message-circle",
        "Messages on your Mac, through BlueBubbles or homarus node.",
        (
            "Sign in to Messages on a Mac, best with an Apple account for the assistant alone.",
            "Either install BlueBubbles there, set a password in it, and write its address and the password here.",
            "Or pair the Mac with homarus node, and start it there with homarus node run --imessage on.",
            "Then approve the Mac under Devices, allow imessage.* under nodes, commands, and write its name here.",
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
    "msteams": ChannelGuide(
        "layout-grid",
        "A bot in chats and channels; needs a public address.",
        (
            "In the Azure portal, create an Azure Bot of the type Single Tenant.",
            "From its configuration, copy the App ID and the tenant ID, and create a client secret.",
            "Add the channel Microsoft Teams, and set the messaging endpoint to /msteams/default at your address.",
            "Make the app package as docs/channels/msteams.md says, and upload it to Teams.",
        ),
    ),
    "google_chat": ChannelGuide(
        "calendar",
        "An app in your Google Workspace.",
        (
            "In the Google Cloud console, enable the Chat API, and create a service account with a JSON key.",
            "Configure the Chat app for Cloud Pub/Sub, or for the HTTP endpoint /google_chat/default at your address.",
            "Paste the whole JSON here, with the subscription for Pub/Sub, or the audience for the endpoint.",
        ),
    ),
    "matrix": ChannelGuide(
        "share-2",
        "An account on any Matrix server.",
        (
            "Create an account for the assistant on your Matrix server.",
            "Write its address here, and sign it in with its password or an access token.",
        ),
    ),
    "line": ChannelGuide(
        "message-circle",
        "An official account; needs a public address.",
        (
            "Open manager.line.biz, create an official account, and switch on the Messaging API in its settings.",
            "Open developers.line.biz, choose its channel, and copy the channel secret.",
            "On the page Messaging API, issue a channel access token and copy it.",
            "Set the webhook URL to /line/default at your address, and switch on Use webhook.",
        ),
    ),
    "feishu": ChannelGuide(
        "notebook-pen",
        "An app of your own in Feishu or Lark.",
        (
            "Open open.feishu.cn/app or open.larksuite.com/app, create a custom app, and add the feature Bot.",
            "Copy the App ID and the App Secret, and allow the permissions that docs/channels/feishu.md lists.",
            "Save this form first; then choose persistent connection in Events and Callbacks, and publish a version.",
        ),
    ),
    "wecom": ChannelGuide(
        "list-checks",
        "An AI bot in your company.",
        (
            "In WeCom, open the Workbench, then Smart Bot, and create a bot by hand in API mode.",
            "Choose the long connection, and copy the Bot ID and the Secret.",
            "Name the people who may see the bot, and write to it once.",
        ),
    ),
    "dingtalk": ChannelGuide(
        "zap",
        "A robot in your organisation.",
        (
            "Open open-dev.dingtalk.com, create an app for your organisation, and add a robot to it in Stream mode.",
            "Copy the Client ID and the Client Secret from Credentials, and publish a version.",
            "Write to the robot in DingTalk, or add it to a group and mention it.",
        ),
    ),
    "qq": ChannelGuide(
        "star",
        "An official bot; it answers but cannot write first.",
        (
            "Sign up at q.qq.com and create a bot.",
            "In its development settings, copy the AppID and the AppSecret.",
            "Add the bot in QQ by its code, and write to it.",
        ),
    ),
    "zalo": ChannelGuide(
        "bot",
        "A bot of your own, ready in two minutes.",
        (
            "Open Zalo and write to the official account Zalo Bot Manager.",
            "Create a bot and give it a name.",
            "Copy the token from its answer and paste it here.",
        ),
    ),
    "zalo_oa": ChannelGuide(
        "scroll-text",
        "For businesses; needs a public address.",
        (
            "Open developers.zalo.me, add an app, and link it with your official account.",
            "Copy the app's id and secret key, and the OA secret key of its webhook.",
            "In the API Explorer, sign in as the official account and copy the refresh token.",
            "Set the webhook URL to /zalo_oa/default at your address, and switch on its events.",
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
    "nextcloud_talk": ChannelGuide(
        "cloud-sun",
        "A user of its own on your Nextcloud.",
        (
            "In Nextcloud, create an account for the assistant, and sign in as it.",
            "In its settings, Security, create an app password, and write it here with the user name.",
            "In Talk, start a conversation with it, and write to it.",
        ),
    ),
    "email": ChannelGuide(
        "mail",
        "A mailbox that it reads and answers.",
        (
            "Create a mailbox for the assistant; do not use your own.",
            "Look up its servers for IMAP and SMTP, and create a password for apps if your provider wants one.",
            "Outlook takes no password: register an app as docs/channels/email.md says, and sign in.",
        ),
    ),
    "sms": ChannelGuide(
        "keyboard",
        "A number at Twilio; needs a public address, messages cost.",
        (
            "Open console.twilio.com and buy a number that has SMS.",
            "Copy the Account SID and the Auth Token.",
            "In its settings, or those of its messaging service, set the webhook to /sms/default at your address.",
        ),
    ),
    "voice_call": ChannelGuide(
        "mic",
        "Answers calls at a Twilio number; needs a public address.",
        (
            "Open console.twilio.com, and copy the Account SID and the Auth Token.",
            "Buy a number for voice, and send its calls to your home's address with /voice_call/default.",
            "Choose a model that speaks, and one that turns speech into text.",
        ),
    ),
    "xmpp": ChannelGuide(
        "message-circle",
        "An account on any XMPP (Jabber) server.",
        (
            "Create an account for the assistant on your XMPP server.",
            "Write its address and password here, and name the rooms that it is to join.",
        ),
    ),
    "irc": ChannelGuide(
        "terminal",
        "A nickname on an IRC network.",
        ("Choose a network and a nickname.", "Register the nickname if the network wants that."),
    ),
    "ntfy": ChannelGuide(
        "bell",
        "Notifications that you can answer.",
        (
            "Choose a long random topic name for each person: whoever knows it can read and write there.",
            "Subscribe to it in the ntfy app.",
            "Write the topics here, with commas between them. A server of your own also needs its address.",
        ),
    ),
    "webhook_chat": ChannelGuide("link", "Any program that can send and receive a web request."),
    "webchat_page": ChannelGuide("globe", "A chat on a web page of your own."),
}

ACCOUNT_LABELS: Mapping[str, str] = {
    "accept_risk": "I accept the risk",
    "address": "E-mail address",
    "url": "Server address",
    "public_url": "Public address of the hub",
    "webhook_url": "Hub address for the webhook",
    "app_id": "App ID",
    "client_id": "Client ID",
    "imap_host": "IMAP server",
    "smtp_host": "SMTP server",
    "smtp_port": "Port of SMTP",
    "smtp_security": "Encryption of SMTP",
    "authserv_id": "Server that checks senders",
    "oauth.provider": "Provider",
    "oauth.client_id": "Client ID",
    "oauth.client_secret": "Client secret",
    "bot_id": "Bot ID",
    "account_sid": "Account SID",
    "oa_secret": "OA secret key",
    "tenant_id": "Tenant ID",
    "user": "User name",
    "user_id": "User ID",
    "subscription": "Pub/Sub subscription",
    "audience": "Authentication audience",
    "access_token": "Access token",
    "refresh_token": "Refresh token",
    "webhook_secret": "Webhook secret",
    "app_password": "App password",
    "channel_secret": "Channel secret",
    "service_account": "Service account key",
    "button_token": "Token for buttons",
    "signature_secret": "Signature secret",
    "token": "Token",
    "number": "Phone number",
    "messaging_service_sid": "Messaging Service SID",
    "node": "Name of the Mac",
    "callback_url": "Hub address for buttons",
}
"""Labels of fields whose keys alone read badly."""

CHOICE_LABELS: Mapping[str, str] = {
    "feishu": "Feishu",
    "google": "Google",
    "lark": "Lark",
    "microsoft": "Microsoft",
    "none": "None",
    "starttls": "STARTTLS",
    "tls": "TLS",
}
"""Labels of what can be chosen in a field."""


def guide_of(channel: str) -> ChannelGuide:
    """Return the guide of a chat app; of an unknown one, a plain icon."""
    return GUIDES.get(channel, ChannelGuide())
