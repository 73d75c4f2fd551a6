"""The live viewer of a run in the browser."""
