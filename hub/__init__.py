"""The hub: the process that runs the assistant at home. It knows no integration by name.

Parts import downward only, in the order of docs/architecture.md; a test holds them to it.
"""

__version__ = "0.2.0"
