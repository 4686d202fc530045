"""`python -m hub` is the `homarus` command."""

from hub.cli import main

main()
