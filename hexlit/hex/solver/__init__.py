"""The exact solver: the winner of a position and all winning moves, on boards of 2×2 to 8×8.

`solver` is the entry. `proof` searches (depth-first proof-number search). `connection` builds virtual connections from
the short `links`. `inferior` fills in cells that cannot matter and drops moves that cannot help. `ordering` sorts the
other moves. `table` remembers. `bitboard` is the board they all share.
"""

from hexlit.hex.solver.proof import Ingredients
from hexlit.hex.solver.solver import ExactSolver, Solution, UnsolvedError, winning_moves_batch

__all__ = ["ExactSolver", "Ingredients", "Solution", "UnsolvedError", "winning_moves_batch"]
