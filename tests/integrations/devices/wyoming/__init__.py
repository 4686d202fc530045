"""A Home Assistant, services that hear and speak, and satellites, over the Wyoming protocol."""
