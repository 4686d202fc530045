"""Ways that devices reach the hub: what is registered, and what it may do."""
