"""Mistakes on the command line: one line that names what is wrong, exit code 2, and no folder of a
run.

Ranges and words of single settings are checked for all of them in tests/test_settings.py.
"""

import json
import os
import shlex
from dataclasses import asdict
from pathlib import Path

import pytest

from hexlit.cli import main
from tests.commands.test_train import as_a_process
from tests.commands.tiny import save_untrained
from tests.planning.test_plan import PACE

SGF = Path(__file__).parents[1] / "samples" / "games_5x5.sgf"
GAMES = "train board=5 data=games"
MATCH = "match board=4 players=[random,rollouts]"
MISTAKES = [
    ("bench json=true markdown=true", "output=FOLDER"),
    ("bench what=search output=/dev/null/x", "/dev/null"),
    ("bench checkpoint=nowhere.ckpt", "checkpoint=nowhere.ckpt: there is no such file"),
    ("bench task=forecast what=forward", "what=forward: other tasks than hex"),
    ("bench task=none", "task=none: there is no such option; choose from classify, forecast, hex"),
    ("bench task=forecast board=5", "unknown key 'board'"),
    ("bench task=forecast what=train net.hidden=0", "net.hidden=0: must be 1 or more"),
    ("bench task=forecast what=train resume=here", "resume=here: a bench trains fresh weights"),
    ("export checkpoint=x dtype=float16", "dtype=float16: "),
    ("export checkpoint=x target=net.txt", "target=net.txt: a file whose name ends with .onnx"),
    ("games", "action=: choose one of import, export, show, stats, verify"),
    ("games import target=store", "source has no value"),
    ("games import source=SGF", "target has no value: add target=FOLDER"),
    ("games export source=SGF", "target has no value: add target=FILE"),
    ("games import source=nowhere target=store", "source=nowhere: there is no such file or folder"),
    ("games import source=empty target=store", "source=empty: no file in it has games"),
    (
        "games import source=void.sgf target=store",
        "source=void.sgf: there are no games that can be read",
    ),
    ("games import source=picture.png target=store", "formats are sgf"),
    ("games import source=damaged target=store", "part-000000.parquet: cannot be read"),
    ("games export source=SGF target=x.pdf", "target=x.pdf: its name does not show the format"),
    ("games export source=SGF target=x.sgf size=7", "no game fits"),
    ("games show source=SGF game=7", "game=7: 6 games are there"),
    ("games show source=SGF ply=17", "ply=17: the game has 16 moves"),
    ("games show source=SGF json=true", "json=True: belongs to import, export, stats"),
    ("games import source=SGF target=x size=5", "size=5: belongs to export, show, stats, not to"),
    ("games export source=SGF target=x.sgf game=2", "game=2: belongs to show, not to export"),
    ("games stats source=SGF opening=zz9", "move 'zz9': a move on"),
    ("play you=white", "you=white: belongs to terminal=true"),
    (
        "games show source=SGF review=true",
        "review=true: the review is part of the page; add html=FILE",
    ),
    ("games show source=SGF checkpoint=x.ckpt", "add review=true html=FILE"),
    ("games show source=SGF html=notes.txt/x.html", "notes.txt: cannot be read or written"),
    (
        "games show source=SGF html=x.html review=true checkpoint=no.ckpt",
        "checkpoint=no.ckpt: there is no such file",
    ),
    ("htp player=rollouts checkpoint=x.ckpt", "no network plays; leave one out"),
    ("match players=[random]", "a match needs two or more"),
    (
        "match players=[random,solver]",
        "board has no value: none of the players is a network, so add board=N",
    ),
    ("match players=[random,rnadom]", "must name one of checkpoint"),
    (
        "match 'players=[random,checkpoint=NET simulations=0]'",
        "players: net@0: search.simulations=0",
    ),
    (f"{MATCH} board=3 pairs=1000", "1000 openings: a 3x3 board has 36"),
    (f"{MATCH} board=2", "openings.plies=2: on a 2x2 board an opening has 1 to 1"),
    (f"{MATCH} anchor=c", "anchor=c: there is no such player"),
    (
        "match board=3 players=[random,rollouts,solver] sprt.elo1=5",
        "the test is between two players",
    ),
    (
        "match board=3 pairs=2 'players=[random,move_timeout=nan htp=cat]'",
        "move_timeout=nan: must be above 0",
    ),
    (
        "match swap=true openings.plies=2",
        "openings.plies=2: with swap=true an opening is one move; leave it out",
    ),
    (f"{MATCH} board=5 swap=true", "50 openings: a 5x5 board has 13 of 1 plies"),
    ("monitor pid=1 run=here", "pid=1, run=here: name one of the two"),
    ("monitor pid=999999999", "pid=999999999: there is no such process"),
    ("monitor run=ended", "run=ended: no run is running there"),
    ("monitor pid=SELF csv=notes.txt", "csv=notes.txt: holds something else"),
    ("plan", "rates has no value: add rates=FOLDER; hexlit bench what=pace"),
    ("solve 5", "5: settings are written KEY=VALUE"),
    ("solve board=3 moves=ä1", "move 'ä1': a move on a 3x3 board is"),
    ("solve --config-name=match", "--config-name=match: each command has its configuration"),
    ("solve -cn match", "-cn: each command has its configuration"),
    (
        "train trainer=ddp",
        "trainer=ddp: trainer is a section; set its keys, such as trainer.KEY=VALUE",
    ),
    ("train callbacks=rich", "callbacks=rich: callbacks is a section"),
    ("train net.blocks=6", "net.blocks=6: must be a list, such as net.blocks=[6]"),
    ("train net=typo", "net=typo: there is no such option; choose from"),
    ("train batch_size=32", "unknown key 'batch_size': did you mean 'accelerator.train_batch'?"),
    (
        "train optimizer.learning_rate=1",
        "unknown key 'optimizer.learning_rate': did you mean 'optimizer.lr'?",
    ),
    (
        "train trainer.max_epochs=ä",
        "trainer.max_epochs='ä': Value 'ä' of type 'str' could not be converted to Integer",
    ),
    ("train --config-dir yaml net=mine", "yaml/net/mine.yaml line 2: expected ',' or ']'"),
    (
        "games stats source=[über/x,b]",
        "source=[über/x,b]: settings are written KEY=VALUE, in quotes",
    ),
    ("games stats source=über/x", "source=über/x: there is no such file or folder"),
    ("export checkpoint=a=b/r", "checkpoint=a=b/r: there is no such file"),
    ("plan rates=nowhere", "rates=nowhere: has no figures of what=pace"),
    ("plan rates=pace.json hosts=0 workers=0", "0 processes: from 1 to selfplay.games="),
    ("plan rates=pace.json target.games=5 target.epochs=5", "choose one of them"),
    ("plan rates=pace.json data=games data.path=x", "a plan is of self-play"),
    ("play players=[nobody]", "must name one of checkpoint"),
    ("play players=[random]", "two are named random"),
    ("play checkpoint=hexlit:nothing", "no such network"),
    ("play host=a..b", "host=a..b: cannot listen"),
    ("play \"names=['*']\"", "names: '*': a name without port is needed"),
    ("play \"players=['checkpoint=x.ckpt simulations=9']\"", "leave out simulations="),
    ("play terminal=true against=nobody", "there is no 'nobody'"),
    ("report wandb=team", "write ENTITY/PROJECT"),
    ("report", "folder=null: there is no run and no sweep below runs; name the folder of one"),
    ("report s", "continue with hexlit strength resume=s"),
    ("report m", "continue with hexlit match resume=m"),
    ("report run watch=true", "watch=true: run holds a run; only a sweep is watched"),
    ("report empty json=true watch=true", "json=true, watch=true: choose one of the two"),
    ("report runs=[run]", "two runs or more are compared"),
    ("report runs=[run,m]", "m holds a match; only runs are compared"),
    ("report run runs=[run,run]", "folder, runs, wandb: choose one of them"),
    ("solve file=game.sgf move=5", "move=5: the game of game.sgf has 4 moves"),
    ("solve move=2", "move=2: a number of the file's moves"),
    ("solve file=game.sgf moves=a1", "give one of the two"),
    ("solve file=large.sgf", "a board of 11; positions are solved up to 8"),
    ("strength checkpoint=x simulations=[]", "simulations=[]"),
    (
        "strength checkpoint=NET json=true markdown=true",
        "json=true markdown=true: choose one of them",
    ),
    ("strength checkpoint=NET board=9", "board=9: positions are solved on boards of 3 to 8"),
    ("strength checkpoint=NET board=8 what=perfect", "board=8: what=perfect needs 3 rows or more"),
    (
        "train board=9 evaluation.perfect_pairs=5",
        "evaluation.perfect_pairs=5: needs a board of 3 to 7 rows, not of 9",
    ),
    ("strength checkpoint=NET output=/dev/null/x", "/dev/null/x: no run can be kept here"),
    ("train --help optimiser", "--help optimiser: no setting, section or group; did you mean opt"),
    ("solve --help xyz", "--help xyz: no setting, section or group"),
    ("train selfplay.workers=0 selfplay.ahead=true", "set selfplay.workers to 1 or more"),
    ("train trainer.max_time=abc", "00:30:00"),
    (
        "train search.root_batch=true",
        "search.root_batch=true: search.leaves=1 leaves nothing to batch",
    ),
    ("train resume=", "train: resume=: "),
    ("train \"resume=''\"", "train: resume=: "),
    ("train best=", "train: best=: "),
    ("train +best=", "train: best=: "),
    ("train +best=empty", "best.yaml"),
    ("train +best=damaged", "best.yaml"),
    (
        "train task=forecast board=3 net.channels=8",
        "train: unknown key 'board': the keys are name, task, ",
    ),
    ("train resume=/nonexistent", "resume=/nonexistent"),
    ("train name=a/b", "name='a/b'"),
    ("train accelerator.device=cuda:77", "accelerator.device=cuda:77: this "),
    (
        "train init_from=NET accelerator=cpu net.channels=16 net.blocks=[2]",
        "add net.channels=8 net.blocks=[1]",
    ),
    ("train data.path=nowhere", "data.mix_share"),
    (
        "train trainer.max_epochs=3 data.replay_epochs=3",
        "data.replay_epochs=3: must be below trainer.max_epochs=3",
    ),
    (
        "train board=[3,4] trainer.max_epochs=18 data.replay_epochs=2",
        "the 16 epochs before have no game on board=4",
    ),
    ("train trainer.limit_val_batches=2.5", "trainer.limit_val_batches=2.5: a whole number"),
    (
        "train optimizer.name=torch.optim.Adam +optimizer.arguments.weight_decay=1",
        "optimizer.arguments.weight_decay: optimizer.weight_decay sets it",
    ),
    ("train board=4 selfplay.smaller_boards=[4]", "selfplay.smaller_boards=["),
    ("train trainer.monitor=val.loss", "only data=games is validated"),
    ("train evaluation.every_epochs=0", "evaluation.every_epochs=0 measures no strength"),
    (f"{GAMES} data.path=nowhere logger=csv", "nowhere"),
    (f"{GAMES} data.path=x evaluation.every_epochs=0", "trainer.monitor=strength.score: "),
    (
        "train experiment=balanced_weights data.path=x selfplay.games=4",
        "selfplay.games=4: data=games plays no games",
    ),
]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with files that commands cannot use."""
    for folder in (
        "empty",
        "damaged",
        "ended",
        "m",
        "s",
        "run/.hydra",
        "yaml/net",
    ):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "damaged" / "part-000000.parquet").write_bytes(b"PAR1 torn")
    (tmp_path / "ended" / "process.json").write_text(
        json.dumps({"pid": os.getpid(), "create_time": 1.0})
    )
    (tmp_path / "yaml/net/mine.yaml").write_text("channels: [48\n")
    (tmp_path / "damaged" / "best.yaml").write_text("overrides: 3: 4")
    (tmp_path / "m" / "match.json").write_bytes(b"\xff\x00")
    (tmp_path / "s" / "parts.json").touch()
    (tmp_path / "pace.json").write_text(json.dumps({"pace": asdict(PACE)}))
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "game.sgf").write_text("(;FF[4]GM[11]SZ[4];B[a2];W[b2];B[c1];W[d1])")
    (tmp_path / "large.sgf").write_text("(;FF[4]GM[11]SZ[11];B[a1])")
    for name in ("notes.txt", "void.sgf"):
        (tmp_path / name).write_text("mine\n" if name == "notes.txt" else "")
    save_untrained(tmp_path / "net.ckpt", size=4)
    return tmp_path


@pytest.mark.parametrize(("line", "said"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_is_one_line(
    line: str, said: str, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for word, meant in {"SGF": SGF, "SELF": os.getpid(), "NET": here / "net.ckpt"}.items():
        line = line.replace(f"={word}", f"={meant}")
    words = shlex.split(line)
    with as_a_process(here):
        assert main([*words, "port=0", "open=false"] if words[0] == "play" else words) == 2
    captured = capfd.readouterr()
    assert captured.err.startswith(f"hexlit {words[0]}: ")
    assert captured.err.count("\n") == 1, captured.err
    assert said in captured.err
    assert not (here / "runs").exists()
