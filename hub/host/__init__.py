"""The hub as an integration sees it; every registration is undone when the integration is unloaded.

Not here: the record of registrations and the integrations' set-up (`hub.integration`).
"""

from hub.foundation import Share
from hub.host.integration_host import HubParts, IntegrationHost

__all__ = ["HubParts", "IntegrationHost", "Share"]
