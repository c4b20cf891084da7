"""`hexlit htp` as another program meets it: a process with three pipes."""

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hexlit import __version__
from tests.commands.tiny import save_untrained

ROLLOUTS = ["player=rollouts", "rollouts=4", "search.simulations=16", "interval=0.02"]


class Gui:
    """The other side of the table, which reads an answer up to its blank line as HexGui does."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process

    def send(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        self.process.stdin.flush()

    def block(self) -> str:
        assert self.process.stdout is not None
        lines = []
        while line := self.process.stdout.readline().decode():
            lines.append(line)
            if line == "\n":
                break
        return "".join(lines)

    def ask(self, line: str) -> str:
        self.send(line)
        return self.block()


def started(*overrides: str) -> "subprocess.Popen[bytes]":
    # Whoever runs the tests in the background has SIGINT ignored, and so would the program.
    listen = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import runpy; "
    )
    listen += "runpy.run_module('hexlit', run_name='__main__', alter_sys=True)"
    command = [sys.executable, "-c", listen, "htp", *overrides]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@contextmanager
def hexlit_htp(*overrides: str) -> Iterator[Gui]:
    """A running `hexlit htp`, which has ended by itself in the end."""
    process = started(*overrides)
    watch = threading.Timer(300, process.kill)
    watch.start()
    try:
        yield Gui(process)
        out, err = process.communicate()
        assert out == b""
        assert process.returncode == 0, err.decode()
        assert b"Traceback" not in err
    finally:
        watch.cancel()
        process.kill()
        process.communicate()


def test_a_session_as_hexgui_leads_it() -> None:
    with hexlit_htp(*ROLLOUTS, "swap=true") as gui:
        for line in (
            "name",
            "hexgui-analyze_commands",
            "boardsize 5 5",
            "clear_board",
            "play black d2",
        ):
            assert gui.ask(line).startswith("= ")
        assert gui.ask("version") == f"= {__version__}\n\n"
        assert gui.ask("play white c3") == "= \n\n"
        assert "  2 . . . X . 2\n   3 . . O . . 3\n" in gui.ask("showboard")
        move = re.fullmatch(r"= ([a-e][1-5])\n\n", gui.ask("genmove black"))
        assert move is not None
        assert gui.ask(f"play white {move[1]}").startswith("? move ")
        assert gui.ask("undo") == "= \n\n"
        assert gui.ask(f"play black {move[1]}") == "= \n\n"

        # The swap: HexGui never sends it, but clears the board and plays all stones again, row by
        # row.
        gui.send("clear_board", "play white b4", "play black c5", "showboard")
        replayed = [gui.block() for _ in range(4)][-1]
        assert "    4 . O . . . 4\n     5 . . X . . 5\n" in replayed
        assert re.fullmatch(r"= [a-e][1-5]\n\n", gui.ask("genmove white"))

        # Our own swap: the answer is a name that HexGui knows, and the board follows.
        gui.send("param_game simulations 400", "clear_board", "play black c3")
        assert [gui.block() for _ in range(3)] == ["= \n\n"] * 3
        assert gui.ask("genmove white") == "= swap-pieces\n\n"
        assert "   3 . . O . . 3\n" in gui.ask("showboard")
        gui.send("param_game simulations 16", "undo")
        assert [gui.block() for _ in range(2)] == ["= \n\n"] * 2
        assert "   3 . . X . . 3\n" in gui.ask("showboard")

        assert re.fullmatch(r"= (?:[a-e][1-5] [0-9]+ ?)+\n\n", gui.ask("hexlit-visits white"))
        assert gui.ask("quit") == "= \n\n"


def test_thinking_goes_on_until_it_is_interrupted() -> None:
    with hexlit_htp(*ROLLOUTS, "board=7", "search.simulations=32767", "rollouts=3000") as gui:
        gui.send("gogui-gfx-analyze b")
        visits = []
        for _ in range(3):
            block = gui.block()
            assert block.startswith("gogui-gfx:\nkata\ninfo move ")
            visits.append(sum(map(int, re.findall(r" visits ([0-9]+) ", block))))
        assert visits == sorted(set(visits))
        gui.send("# interrupt")
        blocks = [gui.block()]
        while not blocks[-1].startswith("="):
            blocks.append(gui.block())
        assert blocks[-1] == "= \n\n"
        assert all(block.startswith("gogui-gfx:\nkata\n") for block in blocks[:-1])
        gui.send("gogui-gfx-analyze w", "3 name")  # any other command ends it, too
        while (block := gui.block()).startswith("gogui-gfx:"):
            pass
        assert block == "= \n\n"
        assert gui.block() == "=3 hexlit\n\n"
        gui.send("genmove b", "# interrupt")  # a minute's work, left undone
        assert re.fullmatch(r"= [a-g][1-7]\n\n", gui.block())


def test_a_checkpoint_of_one_size_plays_on_every_other_and_swaps_as_it_was_trained(
    tmp_path: Path,
) -> None:
    save_untrained(tmp_path / "checkpoints" / "last.ckpt", seed=1, size=4, swap=True)
    with hexlit_htp(
        f"checkpoint={tmp_path}", "accelerator=cpu", "accelerator.threads=1", "search.simulations=8"
    ) as gui:
        assert " 4 . . . . 4\n" in gui.ask("showboard")
        assert gui.ask("param_game allow_swap") == "= 1\n\n"
        for size in (11, 2, 19):
            assert gui.ask(f"boardsize {size}") == "= \n\n"
            assert re.fullmatch(r"= [a-s][0-9]+\n\n", gui.ask("genmove b"))


def test_it_goes_quietly_when_the_other_side_is_gone_or_at_ctrl_c() -> None:
    gone, interrupted, early = started(*ROLLOUTS), started(*ROLLOUTS), started(*ROLLOUTS)
    assert (
        Gui(early).ask("name") == "= hexlit\n\n"
    )  # answered while everything else is still being imported
    early.send_signal(signal.SIGINT)
    for process in (gone, interrupted):
        assert Gui(process).ask("genmove b").startswith("= ")
    assert gone.stdout is not None
    assert gone.stderr is not None
    gone.stdout.close()
    Gui(gone).send("name")
    said = gone.stderr.read()
    interrupted.send_signal(signal.SIGINT)
    out, err = interrupted.communicate(timeout=100)
    assert (gone.wait(100), interrupted.returncode) == (0, 130)
    assert out == b""
    for text in (said, err):
        assert (
            text.decode()
            .splitlines()[-1]
            .startswith("hexlit htp: player=rollouts is ready on 11x11 after ")
        )
    out, err = early.communicate(timeout=100)
    assert (early.returncode, out) == (130, b"")
    assert b"Traceback" not in err
