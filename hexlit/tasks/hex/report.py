"""Sections of Hex in the report of a run. No torch: `hexlit report` starts fast."""

from hexlit.reporting.page import Section
from hexlit.reporting.run_files import RunFiles
from hexlit.reporting.strength import hex_sections

SAMPLES = 8
"""Games in a report, spread over the run."""


def report_sections(files: RunFiles) -> list[Section]:
    """The sections of the run in `files`, with `SAMPLES` of its games: of each part one of medium
    length.
    """
    from hexlit.selfplay.store import part_files, read_records

    parts = part_files(files.folder / "games")
    chosen = sorted(
        {round(number * (len(parts) - 1) / (SAMPLES - 1)) for number in range(SAMPLES)}
        if parts
        else ()
    )
    sorted_games = [
        sorted(read_records(parts[number]), key=lambda game: len(game.moves)) for number in chosen
    ]
    return hex_sections(files, [games[len(games) // 2] for games in sorted_games if games])
