"""Pure functions on arrays: rotations, rigid motions, triangulation, alignment. No files, no config.

Everything here is numpy in float64 and broadcasts over leading axes. `torch_rotation` holds the few
functions that the network needs with gradients; it is the only module of this room that imports torch.
"""
