"""Vendors of models: their API, address, and the variable of their key."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

OPENAI_API = "openai"
LITELLM_API = "litellm"
OFFLINE_API = "offline"
BUILT_IN_APIS = frozenset({OPENAI_API, OFFLINE_API})
"""The APIs whose integrations need no packages beyond the hub's own."""
OFFLINE = "offline"
OLLAMA = "ollama"


class Vendor(Struct, frozen=True):
    """A vendor's facts.

    Attributes:
        name: The name, as in `providers:` and before the slash of a model.
        api: The integration for it.
        base_url: Its address, for those spoken to by our own client.
        key_variables: Environment variables that may hold its key, the first that is set counts.
        base_url_variable: Environment variable that may hold another address.
        default_model: The model used when none is chosen.
        needs_key: Whether it answers only with a key.
    """

    name: str
    api: str = OPENAI_API
    base_url: str | None = None
    key_variables: tuple[str, ...] = ()
    base_url_variable: str | None = None
    default_model: str | None = None
    needs_key: bool = True


# In the order in which `auto` prefers keys that it finds in the environment.
_VENDORS = (
    Vendor(
        "openai",
        base_url="https://api.openai.com/v1",
        key_variables=("OPENAI_API_KEY",),
        base_url_variable="OPENAI_BASE_URL",
        default_model="gpt-6.1-sol",
    ),
    Vendor("anthropic", LITELLM_API, key_variables=("ANTHROPIC_API_KEY",), default_model="claude-sonnet-5-5"),
    Vendor("gemini", LITELLM_API, key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"), default_model="gemini-3.8-flash"),
    Vendor(
        "openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_variables=("OPENROUTER_API_KEY",),
        default_model="openrouter/auto",
    ),
    Vendor("mistral", LITELLM_API, key_variables=("MISTRAL_API_KEY",), default_model="mistral-medium-latest"),
    Vendor(
        "deepseek",
        base_url="https://api.deepseek.com/v1",
        key_variables=("DEEPSEEK_API_KEY",),
        default_model="deepseek-flash",
    ),
    Vendor("xai", base_url="https://api.x.ai/v1", key_variables=("XAI_API_KEY",), default_model="grok-4.7"),
    Vendor(
        "groq",
        base_url="https://api.groq.com/openai/v1",
        key_variables=("GROQ_API_KEY",),
        default_model="openai/gpt-oss-120b",
    ),
    Vendor(
        "moonshot",
        base_url="https://api.moonshot.ai/v1",
        key_variables=("MOONSHOT_API_KEY",),
        default_model="kimi-k3",
    ),
    Vendor("zai", base_url="https://api.z.ai/api/paas/v4", key_variables=("ZAI_API_KEY",), default_model="glm-5.3"),
    Vendor(
        "dashscope",
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_variables=("DASHSCOPE_API_KEY",),
        default_model="qwen3.8-max",
    ),
    Vendor(
        "cerebras",
        base_url="https://api.cerebras.ai/v1",
        key_variables=("CEREBRAS_API_KEY",),
        default_model="gpt-oss-120b",
    ),
    Vendor(
        "together_ai",
        base_url="https://api.together.xyz/v1",
        key_variables=("TOGETHER_API_KEY", "TOGETHERAI_API_KEY"),
        default_model="openai/gpt-oss-120b",
    ),
    Vendor(OLLAMA, base_url="http://127.0.0.1:11434/v1", needs_key=False),
    Vendor("lmstudio", base_url="http://127.0.0.1:1234/v1", needs_key=False),
    Vendor(OFFLINE, OFFLINE_API, default_model="homarus", needs_key=False),
)

VENDORS: Mapping[str, Vendor] = {vendor.name: vendor for vendor in _VENDORS}


def api_of(name: str, api: str | None, base_url: str | None) -> str:
    """Return the API of a configured provider.

    What is written counts. A vendor of the table comes next. An unknown name with an address is treated as an
    OpenAI-compatible server, one without for a vendor that litellm knows.
    """
    if api is not None:
        return api
    vendor = VENDORS.get(name)
    if vendor is not None:
        return vendor.api
    return OPENAI_API if base_url else LITELLM_API
