"""`python -m homarus_node`."""

from .cli import main

if __name__ == "__main__":
    main()
