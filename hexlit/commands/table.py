"""The table of commands, and nothing else: their modules are imported when they are called."""

COMMANDS: dict[str, tuple[str, str]] = {
    "train": (
        "hexlit.commands.train",
        "train a network: Hex from nothing or from recorded games; forecasts; classes of texts",
    ),
    "games": (
        "hexlit.commands.games",
        "recorded games: import, export, show, stats, verify; from files of many formats, and as Parquet",
    ),
    "predict": (
        "hexlit.commands.predict",
        "apply a trained network to a file: forecasts of new readings, classes of texts",
    ),
    "solve": ("hexlit.commands.solve", "the exact winner and the winning moves of a position, boards 2 to 8"),
    "match": ("hexlit.commands.match", "games between players: ratings with intervals, a sequential test, SGF"),
    "strength": ("hexlit.commands.strength", "a network against the exact truth; what each way of searching is worth"),
    "play": ("hexlit.commands.play", "a board to play and study on, in the browser"),
    "htp": ("hexlit.commands.htp", "play and analyse for other programs, such as HexGui, by the Hex Text Protocol"),
    "export": ("hexlit.commands.export", "a trained network as a file for other programs: ONNX, safetensors"),
    "bench": ("hexlit.commands.bench", "measure this machine: positions, games and training steps a second"),
    "plan": ("hexlit.commands.plan", "hours and cost of a recipe on machines one does not have, from measured rates"),
    "doctor": ("hexlit.commands.doctor", "tries this machine: devices, precisions, compiling, memory"),
    "monitor": (
        "hexlit.commands.monitor",
        "watch a run from outside: processor, memory, device; how many fit side by side",
    ),
    "report": ("hexlit.commands.report", "the results of a sweep, finished or still running: leaderboard, figures"),
}
"""Name of a command -> (module with `main(argv) -> exit code`, one line of help)."""
