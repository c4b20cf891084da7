"""The promises of every format of game records: a game written and read is the same game, or is refused."""

import io

import numpy as np

from hexlit.hex.records.errors import RecordError
from hexlit.hex.records.formats import RecordFormat, from_record
from hexlit.hex.records.game import PASS, RecordedGame, RecordedMove, as_record
from hexlit.testing.games import ENDS, KINDS, built, essence, kept

EXAMPLES = {
    "plain": from_record(as_record(built(10, 1, 100))),
    "swap-pieces": built(10, 1, 9, "swap-pieces", "resign"),
    "swap-sides": built(10, 1, 9, "swap-sides", "resign"),
    "setup": built(10, 4, 9, "setup"),
    "resign": built(10, 1, 6, end="resign"),
    "forfeit": built(10, 1, 6, end="forfeit"),
    "result": built(10, 1, 6, end="resigned by result"),
    "claimed": built(10, 1, 6, end="claimed"),
    "white": built(10, 1, 5, end="resign", loser=-1, white=True),
}
"""A game of each kind: complete, with a swap, with stones set up, given up by a move or by the result alone, with a
claimed winner, begun by White."""


class RecordFormatConformance:
    """The promises of `hexlit.hex.records.formats.RecordFormat`; see `hexlit.testing` for how to run them.

    Attributes:
        form: the format.
        says: the kinds of EXAMPLES that it can say; it refuses the others.
        says_no_games: whether it also writes what is no game of Hex, such as passes, as SGF does.
        random_games: random games of all kinds and sizes to write and read.
    """

    form: RecordFormat
    says: frozenset[str] = frozenset({"plain"})
    says_no_games = False
    random_games = 60

    def test_what_it_can_say_it_says_and_the_rest_it_refuses(self) -> None:
        """For each kind of EXAMPLES."""
        for kind, game in EXAMPLES.items():
            text = self._written(game)
            assert (text is not None) == (kind in self.says), f"{kind}: {'refused' if text is None else 'written'}"
            if text is not None:
                found = [essence(one) for one in self._read(text)]
                assert found == [kept(self.form, game)], f"{kind}: comes back as {found}"

    def test_a_game_written_and_read_is_the_same_game(self) -> None:
        """The format may also refuse to write it."""
        random = np.random.default_rng(0)
        for _ in range(self.random_games):
            size = int(random.integers(2, 27))
            game = built(
                size,
                int(random.integers(2**32)),
                int(random.integers(size * size + 1)),
                str(random.choice(KINDS)),
                str(random.choice(ENDS)),
                int(random.choice([1, -1])),
                white=bool(random.integers(2)),
            )
            self.check_round_trip(game)

    def check_round_trip(self, game: RecordedGame) -> None:
        """Write and read `game` twice, and as a stored game once; for your own games, too."""
        text = self._written(game)
        if text is not None:
            (again,) = self._read(text)
            assert essence(again) == kept(self.form, game), f"{game} comes back as {again}"
            (third,) = self._read(self.form.write(again))
            assert essence(third) == kept(self.form, game), f"{again} comes back as {third}"
        record = as_record(game, 7)
        text = self._written(from_record(record))
        if text is not None:
            (stored,) = self._read(text)
            assert essence(stored)[2:] == kept(self.form, from_record(record))[2:], f"{record} comes back as {stored}"

    def test_games_of_one_file_are_read_in_order_each_at_its_place(self) -> None:
        """Line and column, from 1."""
        some = [from_record(as_record(built(10, seed, 100))) for seed in range(4)]
        found = self._read("".join(self.form.write(game) for game in some))
        assert [essence(game) for game in found] == [essence(game) for game in some]
        lines = [game.place.line for game in found]
        assert lines == sorted(set(lines)), f"the games stand in the lines {lines}"
        assert all(game.place.file == "f" and game.place.column for game in found), "a place is not told"

    def test_line_ends_of_other_systems_and_a_byte_order_mark_change_nothing(self) -> None:
        """Files come from everywhere."""
        game = from_record(as_record(built(10, 3, 100)))
        text = "\ufeff" + self.form.write(game).replace("\n", "\r\n")
        assert [essence(one) for one in self._read(text)] == [essence(game)]

    def test_what_is_no_legal_game_is_refused(self) -> None:
        """Boards and cells that there are not and, but for `says_no_games`, passes."""
        passed = RecordedGame(10, (RecordedMove(1, 5), RecordedMove(-1, PASS), RecordedMove(1, 6)), winner=1)
        nowhere = [RecordedGame(10, (RecordedMove(1, cell),), winner=1) for cell in (100, -9)]
        boards = [RecordedGame(size, ()) for size in (1, 27)]
        for game in (*boards, *nowhere, *([] if self.says_no_games else [passed])):
            assert self._written(game) is None, f"{game} was written"

    def _written(self, game: RecordedGame) -> str | None:
        """The text of `game`, None where the format refuses it, for the one reason that it may have."""
        try:
            return self.form.write(game)
        except RecordError as error:
            reason = error.reason
        assert reason == "cannot be written", f"refused as {reason!r}"
        return None

    def _read(self, text: str) -> list[RecordedGame]:
        """The games of `text`, as from a file called `f`; all have to be readable."""
        found = list(self.form.read(io.StringIO(text, newline=None), "f"))
        wrong = [one for one in found if isinstance(one, RecordError)]
        assert not wrong, f"its own text cannot be read: {wrong}"
        return [one for one in found if isinstance(one, RecordedGame)]
