"""The documentation: generated pages are current, links lead somewhere, examples are valid."""
