"""The demo home: its words, its clock, its devices, and the whole of it as somebody starts it."""
