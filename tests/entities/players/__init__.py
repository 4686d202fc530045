"""What reaches a player when a service is called: the same as with a real Home Assistant core."""
