"""The exact solver: the winner of a position and all winning moves, on boards of 2×2 to 8×8.

`solver` is the entry, `first_moves` the map of all openings. `proof` searches (depth-first
proof-number search), `table` remembers. `connection` builds virtual connections. `moves` fills in
cells that cannot matter and drops moves that cannot help, `order` sorts the others. `strategy`
turns connections into claims, `certificate` whole proofs, and `lines` draws them. `bitboard` is the
board they all share.
"""

from hexlit.hex.solver.first_moves import FirstMoves
from hexlit.hex.solver.proof import Ingredients
from hexlit.hex.solver.solver import ExactSolver, Policy, Solution, UnsolvedError

__all__ = ["ExactSolver", "FirstMoves", "Ingredients", "Policy", "Solution", "UnsolvedError"]
