"""What an integration is given: the seams of the hub, each registration undone when the integration goes.

Not here: the record of registrations and the integrations' set-up (`hub.integration`).
"""

from hub.host.integration_host import HubParts, IntegrationHost

__all__ = ["HubParts", "IntegrationHost"]
