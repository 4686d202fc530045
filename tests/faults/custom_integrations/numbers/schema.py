"""Where the platform is."""

from hub.core.schema import Required, Schema, integer

CONFIG_SCHEMA = Schema({Required("port", description="The platform's port."): integer})
