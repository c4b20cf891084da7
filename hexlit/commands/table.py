"""The table of commands, and nothing else: their modules `hexlit.commands.NAME` are imported when
they are called.
"""

COMMANDS: dict[str, str] = {
    "train": "train a network: Hex from nothing or from recorded games; forecasts; classes of texts",
    "games": "recorded games: import, export, show, stats, verify, as files of many formats and Parquet; puzzles",
    "predict": "apply a trained network to a file: forecasts of new readings, classes of texts",
    "solve": "the exact winner and the winning moves of a position, boards 2 to 8",
    "match": "games between players: ratings with intervals, a sequential test, SGF",
    "strength": "a network against the exact truth; what each way of searching is worth",
    "play": "a board to play and study on, in the browser",
    "htp": "play and analyse for other programs, such as HexGui, by the Hex Text Protocol",
    "export": "a trained network as a file: ONNX, safetensors, a page to play against it",
    "bench": "measure this machine: positions, games and training steps a second",
    "plan": "hours and cost of a recipe on machines one does not have, from measured rates",
    "doctor": "tries this machine: devices, precisions, compiling, memory",
    "monitor": "watch a run from outside: processor, memory, device; how many fit side by side",
    "report": "the page of a run, match, strength run or sweep, or of runs side by side",
}
"""Name of a command, whose module has `main(argv) -> exit code` -> one line of help."""
