"""The networks: the paper's, its variant with attention, the refining one; their losses and their shipped weights.

Nothing is imported here, because torch takes seconds to load and not every run needs it.
"""
