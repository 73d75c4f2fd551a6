"""The live viewer of a run in the browser. Nothing is written, and nothing leaves the machine.

`load.py` reads the output folder, `world.py` says how it is drawn, `points.py` and `cameras.py` draw it, and `serve.py`
serves it with viser.
"""
