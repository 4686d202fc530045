"""The test-kit of channels: one suite that each channel passes against its platform; `kit` says how to add one.

What only one channel has is tested in `tests/integrations/channels`.
"""
