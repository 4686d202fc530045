"""Sources of firings beside the clock and the bus: webhooks, feeds, files, commands, MQTT topics, sentences.

Not here: the triggers that listen to them (`triggers/`).
"""
