"""Configuration of the connection to a Home Assistant."""

from __future__ import annotations

from hub.core.schema import All, In, Match, Optional, Required, Schema, secret, string, url

CONFIG_SCHEMA = Schema(
    {
        Required("url", description="Its address, such as http://homeassistant.local:8123."): url,
        Required("token", description="A long-lived access token, made on the page of your profile there."): secret,
        Optional("entities", default="all", description="Which come: all, or those that its Assist may see."): In(
            ("all", "exposed")
        ),
    }
)
CALL = Schema(
    {
        Required("action", description="Its service, such as notify.mobile_app_phone."): All(
            string, Match(r"^[a-z0-9_]+\.[a-z0-9_]+$", msg="expected a service such as notify.notify")
        ),
        Optional("data", default=dict, description="What the service takes."): {string: object},
        Optional("target", default=dict, description="Its entities, devices or areas, by their ids there."): {
            string: object
        },
    }
)
