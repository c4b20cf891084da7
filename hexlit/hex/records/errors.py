"""Why a record cannot be read, and where it stands."""

from dataclasses import dataclass

from hexlit.errors import UsageError


@dataclass(frozen=True)
class Place:
    """A place in a file, as editors count: lines and columns from 1; 0 if unknown."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """`file:line:column`, without what is not known."""
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part)


class RecordError(UsageError):
    """A game that cannot be read, or is none.

    Attributes:
        reason: a few words for the kind of error, such as `illegal move`; an importer counts games by them.
        said: one sentence about this game.
        place: where it stands.
    """

    def __init__(self, reason: str, said: str, place: Place | None = None) -> None:
        """One line: the place, then what is wrong there."""
        said = said if said.isprintable() else "".join(sign if sign.isprintable() else " " for sign in said)
        self.reason = reason
        self.said = said
        self.place = place or Place()
        where = str(self.place)
        super().__init__(f"{where}: {said}" if where else said)

    def at(self, place: Place) -> "RecordError":
        """The same error at `place`."""
        return RecordError(self.reason, self.said, place)
