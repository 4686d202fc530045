"""Satellites that listen and speak in rooms, and the pipeline behind them: wake word, text, agent, speech.

Not here: the engines that hear and speak (`hub.models`), and the devices themselves, which integrations add.
"""
