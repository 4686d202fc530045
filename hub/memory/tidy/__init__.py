"""What tidying up changes in the files of a memory: rules alone, decided from their texts.

Reading, asking a model and writing are in `hub/agent/tidy`, how two entries stand to each other in `../alike.py`.
"""
