"""Data made of many sparse features or skills whose frequencies follow a power law.

`superposition`: n features in m dimensions, all at once (strong) or the m most frequent alone (weak).
`quanta`: many parities, each learnt from the examples that are its own.
"""

from scalinglab.theory.sparse_features import quanta, superposition
from scalinglab.theory.sparse_features.frequencies import zipf

__all__ = ["quanta", "superposition", "zipf"]
