"""The node program: against a gateway of the tests' own, and against the hub's."""
