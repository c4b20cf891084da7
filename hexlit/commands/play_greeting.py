"""The first lines of a game on the terminal: who plays, and how to read the board."""

from hexlit.reporting.board import LAST, SIDES

_YOU = {
    "black": "You play Black (X) against {other}, who plays White (O).",
    "white": "You play White (O) against {other}, who plays Black (X).",
    "both": "You play both sides; hints come from {other}.",
    "none": "{other} plays both sides.",
}


def greeting(you: str, against: str, network: str | None) -> str:
    """The lines for a game of a person with the colours `you` (see `PlayConfig`).

    Args:
        you: black, white, both or none.
        against: name of the other player.
        network: the checkpoint behind it; None if it is no network, or one from the setting `players`.
    """
    other = f"{against} ({network})" if network is not None else against
    loading = f"Loading {other} ..."
    return "\n".join([_YOU[you].format(other=other), f"{SIDES}; {LAST}.", loading])
