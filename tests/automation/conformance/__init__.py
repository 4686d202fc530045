"""What Home Assistant's documentation shows, each construct with a case of our own: `cases/*.yaml`, `refused.yaml`,
and every mistake that the grammar tells: `mistakes/*.yaml`. Cases are data; `README.md` says how they are read."""
