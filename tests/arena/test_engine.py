"""Foreign programs as players:
whatever they do wrong loses the game with a note, and leaves nothing behind.
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from hexlit.arena.engine import EngineProcess, HtpEngine
from hexlit.arena.players import RESIGN, Forfeit
from hexlit.errors import UsageError
from hexlit.hex.board import GameBoard
from tests.arena.engines import engine
from tests.processes import left_after

Start = Callable[..., HtpEngine]


@pytest.fixture
def start() -> Iterator[Start]:
    """Makes engines with short time-outs, and closes them all."""
    made: list[HtpEngine] = []

    def make(
        changes: str = "", *arguments: str, start_timeout: float = 20.0, move_timeout: float = 20.0
    ) -> HtpEngine:
        command = engine(changes, *arguments)
        made.append(
            HtpEngine(command, name="fake", start_timeout=start_timeout, move_timeout=move_timeout)
        )
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    before = set(psutil.Process().children(recursive=True))
    yield
    left = [
        process for process in psutil.Process().children(recursive=True) if process not in before
    ]
    assert left == []


def move_of(player: HtpEngine, moves: Sequence[int], size: int = 3, *, swap: bool = False) -> int:
    (move,) = player.answer([GameBoard(size, swap=swap, moves=moves)])
    return move


def note_of(engine: HtpEngine, moves: tuple[int, ...] = ()) -> str:
    """Why it loses its first game on 3x3, after `moves`."""

    def play() -> int:
        engine.begin(3)
        return move_of(engine, moves)

    with pytest.raises(Forfeit, match="^fake: ") as caught:
        play()
    return str(caught.value).removeprefix("fake: ")


LOGGED = (
    "for name_ in ('boardsize', 'param_game', 'clear_board', 'play', 'genmove'):\n"
    "    def wrapped(words, inner=globals().get(name_, lambda words: say(''))):\n"
    "        with open(sys.argv[1], 'a') as file: file.write(' '.join(words) + '\\n')\n"
    "        inner(words)\n"
    "    globals()[name_] = wrapped\n"
)


def logged(log: Path) -> str:
    """The commands that a program has noted, a line a game."""
    return ", ".join(log.read_text().splitlines()).replace("clear_board, ", "\n")


def test_a_game_is_told_move_by_move_and_told_again_where_it_differs(
    start: Start, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    player = start(LOGGED, str(log))
    player.begin(3)
    assert move_of(player, []) == 0
    assert move_of(player, [0, 8]) == 1
    assert move_of(player, [4]) == 0
    player.begin(4)
    assert move_of(player, [5, 6], 4) == 0
    assert logged(log).replace("param_game allow_swap 0, ", "").splitlines() == [
        "boardsize 3 3, ",
        "genmove b, play w c3, genmove b, ",
        "play b b2, genmove w, boardsize 4 4, ",
        "play b b2, play w c2, genmove b",
    ]


def test_a_swap_is_the_move_swap_pieces_in_both_directions(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "log"
    swapper = (
        "def genmove(words): say('Swap-Pieces' if words[1] == 'w' and len(played) == 1 else 'b1')\n"
    )
    player = start(swapper + LOGGED, str(log))
    player.begin(3, swap=True)
    assert move_of(player, [1], swap=True) == 9
    assert move_of(player, [1, 9, 8], swap=True) == 1, (
        "b1 is free again: the swap has put White's stone on a2"
    )
    player.begin(3, swap=True)
    assert move_of(player, [2, 9], swap=True) == 1
    assert note_of(player, (1,)) == "illegal move: swap-pieces"
    assert logged(log).replace("boardsize 3 3, ", "").splitlines() == [
        "param_game allow_swap 1, ",
        "play b b1, genmove w, play b c3, genmove w, param_game allow_swap 1, ",
        "play b c1, play w swap-pieces, genmove b, param_game allow_swap 0, ",
        "play b b1, genmove w",
    ]


@pytest.mark.parametrize(
    ("changes", "moves", "note"),
    [
        ("def genmove(words): say('A1')", (4,), 0),
        ("def genmove(words): print('=\\tb1  \\r\\n\\r', flush=True)", (4,), 1),
        ("def genmove(words): print('loading\\n\\n= b1\\n', flush=True)", (4,), 1),
        (
            "def genmove(words): print('gogui-gfx:\\nuct\\nVAR B a1\\n\\n= b1\\n', flush=True)",
            (4,),
            1,
        ),
        ("def genmove(words): say('RESIGN')", (4,), RESIGN),
        (
            "def boardsize(words):\n  if len(words) == 3: print('? one number\\n', flush=True)\n  else: say('')",
            (),
            None,
        ),
        (
            "def boardsize(words): print('? too small\\n', flush=True)",
            (),
            "refuses 'boardsize 3': too small",
        ),
        (
            "def play(words): print('? illegal move\\n', flush=True)",
            (4,),
            "refuses 'play b b2': illegal move",
        ),
        (
            "def genmove(words): print('? no idea\\n', flush=True)",
            (),
            "refuses 'genmove b': no idea",
        ),
        ("def genmove(words): say('b2')", (4,), "illegal move: b2"),
        ("def genmove(words): say('d1')", (4,), "answers 'd1', which is no move on a 3x3 board"),
        ("def genmove(words): say('swap-pieces')", (4,), "illegal move: swap-pieces"),
        ("def genmove(words): say('')", (4,), "answers '', which is no move on a 3x3 board"),
        (
            "def genmove(words): say('the best move\\nis b3')",
            (4,),
            "answers 'the best move\\nis b3', which is no move",
        ),
        ("def genmove(words): sys.exit(3)", (), "exit code 3 at 'genmove b'"),
        ("def genmove(words): os.kill(os.getpid(), 9)", (), "killed by SIGKILL at 'genmove b'"),
        ("def genmove(words): print('= a', end='', flush=True); sys.exit(0)", (), "exit code 0"),
        (
            "raise ValueError('no model here')",
            (),
            "'boardsize 3 3'; its last words: ValueError: no model here",
        ),
    ],
)
def test_answers_and_what_is_wrong_with_them(
    start: Start, changes: str, moves: tuple[int, ...], note: int | str | None
) -> None:
    player = start(f"{changes}\n")
    if isinstance(note, str):
        assert note in note_of(player, moves)
    else:
        player.begin(3)
        if note is not None:
            assert move_of(player, moves) == note


@pytest.mark.parametrize(
    "changes",
    [
        "time.sleep(60)",
        "def boardsize(words): time.sleep(60)",
        "def boardsize(words): print('hello there', flush=True)",
        "def boardsize(words): print('= half an answer', flush=True)",
    ],
)
def test_who_keeps_silent_loses(start: Start, changes: str) -> None:
    assert note_of(start(f"{changes}\n", start_timeout=0.3)).startswith(
        "no answer to 'boardsize 3 3' within 0.3 s"
    )


def test_what_is_said_instead_of_an_answer_stands_in_the_note(start: Start) -> None:
    player = start("def genmove(words): print('hello there', flush=True)\n", move_timeout=1.0)
    assert note_of(player) == "no answer to 'genmove b' within 1 s; it printed 'hello there'"


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ("while True: print('noise' * 1000)", "with more than 1048576 bytes, such as 'noise"),
        (
            "while True: print('noise' * 1000, end='')",
            "with more than 1048576 bytes, such as 'noise",
        ),
        ("print('= a')\n  while True: print('noise' * 1000)", "with more than 1048576 bytes"),
    ],
)
def test_who_cannot_stop_talking_loses_at_once(start: Start, changes: str, note: str) -> None:
    assert note in note_of(start(f"def boardsize(words):\n  {changes}\n"))


def test_a_program_that_hangs_in_a_game_is_started_anew_for_the_next(
    start: Start, tmp_path: Path
) -> None:
    flag = tmp_path / "flag"
    player = start(
        "def genmove(words):\n"
        "    if not os.path.exists(sys.argv[1]):\n"
        "        open(sys.argv[1], 'w').close()\n"
        "        time.sleep(60)\n"
        "    say('c3')\n",
        str(flag),
        move_timeout=1.0,
    )
    player.begin(3)
    with pytest.raises(Forfeit, match="fake: no answer to 'genmove b' within 1 s"):
        move_of(player, [])
    with pytest.raises(Forfeit, match="fake: is not running"):
        move_of(player, [])
    player.begin(3)
    assert move_of(player, [4]) == 8


def test_a_flood_on_standard_error_blocks_nobody_and_its_end_is_quoted(start: Start) -> None:
    player = start(
        "def genmove(words):\n"
        "    for _ in range(20000): sys.stderr.write('still thinking\\n')\n"
        "    sys.stderr.write('out of ideas\\n')\n"
        "    sys.stderr.flush()\n"
        "    sys.exit(1)\n"
    )
    assert note_of(player) == "exit code 1 at 'genmove b'; its last words: out of ideas"


def test_a_program_that_ignores_every_request_to_leave_is_killed_with_its_children(
    start: Start, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    player = start(
        "import subprocess\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open(sys.argv[1], 'w').write(f'{os.getpid()} {child.pid}')\n"
        "def quit(words): say('')\n",
        str(pids),
    )
    player.begin(3)
    started = [psutil.Process(int(pid)) for pid in pids.read_text().split()]
    player.close()
    player.close()
    assert not left_after(20, started)


def _begun(player: HtpEngine) -> psutil.Process:
    """The program of a player's first game, among whatever processes other tests have left."""
    before = set(psutil.Process().children())
    player.begin(3)
    (child,) = set(psutil.Process().children()) - before
    return child


def test_a_program_that_ended_between_two_games_loses_one_game_only(start: Start) -> None:
    player = start()
    child = _begun(player)
    os.kill(child.pid, signal.SIGKILL)
    assert not left_after(20, [child])
    with pytest.raises(Forfeit, match="fake: killed by SIGKILL "):
        player.begin(3)
    player.begin(3)
    assert move_of(player, []) == 0


@pytest.mark.parametrize(
    ("command", "part"),
    [("", "there is no program"), ("no-such-program-here -x", "there is no program")],
)
def test_what_is_no_command_line_is_refused_before_any_game(command: str, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        HtpEngine(command, name="fake", start_timeout=1, move_timeout=1)


def test_ctrl_c_while_a_program_is_asked_to_leave_leaves_none_behind(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = start()
    child = _begun(player)

    def interrupted(self: EngineProcess, command: str, seconds: float) -> tuple[bool, str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(EngineProcess, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        player.close()
    assert not left_after(20, [child])
    monkeypatch.undo()
    player.begin(3)


def test_no_shell_reads_the_command_line(start: Start, tmp_path: Path) -> None:
    player = start(
        "open(sys.argv[1] + '/' + sys.argv[2].replace('/', '_'), 'w').close()\n",
        str(tmp_path),
        "$HOME; ls *",
    )
    player.begin(3)
    assert (tmp_path / "$HOME; ls *").exists()
