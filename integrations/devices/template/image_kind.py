"""Images: a picture at an address that a template says; the state is when that was said last."""

from __future__ import annotations

from hub.core.schema import Optional, boolean
from integrations.devices.template.contract import Shown, TemplateKind
from integrations.devices.template.reading import NOTHING, field, text

UPDATED = "updated"
IMAGE = TemplateKind(
    domain="image",
    description="A picture at an address.",
    templates={"url": field("url", lambda result: "" if result in NOTHING else text(result), required=True)},
    show=lambda settings, values: Shown(values.get(UPDATED)),
    fields={
        Optional("verify_ssl", default=True, description="Whether the certificate of its server is checked."): boolean
    },
    name="Template Image",
)
