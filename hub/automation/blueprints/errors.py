"""Errors of blueprints."""

from __future__ import annotations

from hub.config.errors import ConfigError
from hub.core.errors import HubError


class BlueprintInvalid(HubError):
    """A blueprint file has errors; `errors` lists each with its line."""

    code = "BLUEPRINT_INVALID"
    http_status = 422

    def __init__(self, file: str, errors: list[ConfigError]) -> None:
        shown = "; ".join(str(error) for error in errors[:3])
        more = f"; and {len(errors) - 3} more" if len(errors) > 3 else ""
        super().__init__(
            f"the blueprint {file} is not valid: {shown}{more}",
            details={"file": file, "errors": [error.as_dict() for error in errors[:50]]},
        )
        self.errors = errors
