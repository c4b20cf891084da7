"""Counts the solver's nodes for all openings of a board, with one of its ideas switched off.

    python docs/results/solver_ideas.py ROWS

It prints one JSON object: the idea that is left out ("" for none) -> nodes.
"""

import json
import sys

import numpy as np

from hexlit.hex.solver import ExactSolver, Ingredients

BLACK = 1


def nodes_of(rows: int, use: Ingredients) -> int:
    """Nodes of solving the empty board, with every winning first move."""
    solver = ExactSolver(rows, use=use)
    empty = np.zeros(rows * rows, np.int8)
    return solver.solve(empty, BLACK).nodes


def main(rows: int) -> None:
    """Print the nodes with all ideas, and without each of them."""
    everything = Ingredients()
    nodes = {"": nodes_of(rows, everything)}
    for idea in Ingredients._fields:
        nodes[idea] = nodes_of(rows, everything._replace(**{idea: False}))
    print(json.dumps({"board": rows, "nodes": nodes}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
