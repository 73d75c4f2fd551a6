"""How good a reconstruction is against a reference: errors after alignment, and pairwise accuracy without any.

Protocol of METHOD section 8. Only images that the reference has are scored.
"""

from vgpa.evaluate.metrics import auc, pair_errors_deg, registration_aware
from vgpa.evaluate.scores import Scores, evaluate

__all__ = ["Scores", "auc", "evaluate", "pair_errors_deg", "registration_aware"]
