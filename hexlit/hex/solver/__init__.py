"""The exact solver: who wins a position, and with which moves, on boards of 2×2 to 8×8.

`solver` is the way in; `proof` searches (depth-first proof-number search); `connection` finds virtual connections,
out of the short `links`; `inferior` fills in what cannot matter and drops moves that cannot help; `ordering` sorts the
rest; `table` remembers; `bitboard` is the board they all share.
"""

from hexlit.hex.solver.proof import Ingredients
from hexlit.hex.solver.solver import Solution, Solver, UnsolvedError, winning_moves_batch

__all__ = ["Ingredients", "Solution", "Solver", "UnsolvedError", "winning_moves_batch"]
