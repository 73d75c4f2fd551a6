"""How good a reconstruction is against a reference: errors after alignment, and pairwise accuracy without any.

Protocol of METHOD section 8 (docs/evaluation.md). Only images that the reference has are scored.
"""

from vgpa.evaluate.metrics import auc, auc_by_degrees, pair_errors_deg, registration_aware
from vgpa.evaluate.scores import Protocol, Scores, evaluate

__all__ = ["Protocol", "Scores", "auc", "auc_by_degrees", "evaluate", "pair_errors_deg", "registration_aware"]
