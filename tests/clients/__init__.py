"""Programs of other people, unchanged, against a hub."""
