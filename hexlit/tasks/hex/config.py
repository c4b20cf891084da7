"""The configuration of `hexlit train task=hex`. Imports nothing heavy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hexlit.arena.config import EvaluationConfig
from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError
from hexlit.nets.config import NetConfig
from hexlit.search.config import BOARDS, SearchConfig
from hexlit.selfplay.config import SelfPlayConfig, check_search
from hexlit.settings import TARGET_GROUP, Settings, check_numbers, check_word, number, one_of
from hexlit.tasks.hex.packaged import network_file
from hexlit.tasks.run_config import RunConfig, check_there


@dataclass
class DataConfig(Settings, section="data"):
    """Training data of an epoch: games of the network's own, recorded games, or both."""

    source: str = one_of(("selfplay", "games"), "selfplay")
    """Source of games: `selfplay` (the network plays as it learns) or `games` (recorded; an epoch
    uses each once).
    """
    batch: int = number(512, "[1, inf)")
    """Examples in one optimisation step, on every device; `accelerator.train_batch` overrides
    it.
    """
    window: int = number(60_000, "[1, inf)")
    """Self-play: number of positions in the replay window; it holds the latest games."""
    replay_epochs: int = number(0, "[0, inf)")
    """Self-play: number of epochs at the end of the run that play no games. They learn from all its
    games on `board`, not only the latest; each has the draws of an epoch with `selfplay.positions`
    new ones.
    """
    reuse: float = number(4.0, "(0, inf)")
    """Self-play: average draws of a new position in the next epoch: positions trained on /
    positions played.
    """
    search_value_share: float = number(0.0, "[0, 1]")
    """Share of the searched value in the value target, where there is one; the rest is the result
    of the game.
    """
    targets: str = one_of(("searched", "played"), "searched")
    """Recorded games: what games with searched policies teach, as those of a run: these policies
    (`searched`), or at all positions the moves played (`played`). Other games teach the moves
    played.
    """
    path: str | None = None
    """Recorded games: the folder of a store, made by `hexlit games import` or by a run
    (`runs/.../games`).
    """
    mix_share: float = number(0.0, "[0, 1)")
    """Self-play: share of every batch from the games at `path`, without those for validation."""
    validation_share: float = number(0.2, "(0, 1)")
    """Recorded games: share held out for validation after every epoch (of `data=games`)."""
    split: str = one_of(("game", "opening"), "game")
    """Unit of holding out: whole games (`game`), or all games of an opening (`opening`); never
    positions.
    """
    split_seed: int = number(42, "[0, inf)")
    """Seed of the choice. It is separate from that of training, so that all runs share one
    validation set.
    """
    opening_plies: int = number(2, "[1, inf)")
    """Number of moves in an opening, for `split=opening`."""
    max_positions: int = number(500_000, "[2, inf)")
    """Most positions, including those held out."""
    claimed_results: bool = False
    """Whether to use games whose winner only the file claims, without a connection or a
    resignation.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.path and self.source == "games":
            raise UsageError(
                "data.path=null: data=games needs a store of games; make one by hexlit games import"
            )
        if not self.path and self.mix_share:
            raise UsageError(
                f"data.mix_share={self.mix_share}: needs the games to mix in, data.path=FOLDER"
            )
        if self.source == "games" and self.mix_share:
            raise UsageError(
                f"data.mix_share={self.mix_share}: mixes games into self-play; data.source is games"
            )
        if self.path is not None and self.source == "selfplay" and not self.mix_share:
            raise UsageError(
                f"data.path={self.path}: self-play reads it only with data.mix_share, such as 0.25"
            )


@dataclass
class HexTrainConfig(RunConfig):
    """Settings of `hexlit train task=hex`."""

    board: int = number(5, BOARDS)
    """Rows of the board. A list, such as `[5,6,7]`, learns on the smaller ones first: see
    `selfplay.smaller_boards`.
    """
    swap: bool = False
    """Whether White may answer the first move with swap-pieces."""
    init_from: str | None = None
    """Network at the start of a new run: a checkpoint, the folder of a run, or `hexlit:NAME`. Null:
    random weights.
    """
    policy_weight: float = number(1.0, "[0, inf)")
    """Weight of the policy loss in the total loss."""
    value_weight: float = number(1.0, "[0, inf)")
    """Weight of the value loss in the total loss."""
    targets: dict[str, float] = field(default_factory=dict)
    """Further targets of other packages, by name the weight of each one's loss."""
    net: NetConfig = field(default_factory=NetConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    ray: RayConfig = field(default_factory=RayConfig)
    data: DataConfig = field(default_factory=DataConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_search(self.search)
        weights = {f"targets.{name}": weight for name, weight in self.targets.items()}
        check_numbers("[0, inf)", **weights)
        if self.policy_weight == self.value_weight == 0:
            raise UsageError("policy_weight=0 and value_weight=0: nothing would be learned")
        if self.trainer.fast_dev_run:
            self.data.replay_epochs, self.selfplay.smaller_boards = 0, []
        replays = self.data.replay_epochs
        epochs = self.trainer.max_epochs
        if replays >= epochs:
            raise UsageError(
                f"data.replay_epochs={replays}: must be below trainer.max_epochs={epochs}"
            )
        own = (self.selfplay.board_of(epoch, self.board) for epoch in range(epochs - replays))
        if replays and self.board not in own:
            raise UsageError(
                f"data.replay_epochs={replays}: the {epochs - replays} epochs before have no game on "
                f"board={self.board}; set fewer, or more trainer.max_epochs"
            )
        boards = self.selfplay.smaller_boards
        if boards and (max(boards) >= self.board or self.data.mix_share):
            raise UsageError(
                f"selfplay.smaller_boards={boards}: must be below board={self.board}, no data.mix_share"
            )
        pairs = self.evaluation.perfect_pairs
        if pairs and not 3 <= self.board <= 7:
            raise UsageError(
                f"evaluation.perfect_pairs={pairs}: needs a board of 3 to 7 rows, not of {self.board}"
            )
        # The run itself would notice only in its last epoch that it is not measured.
        monitor = self.trainer.monitor
        if monitor.startswith("val.") and self.data.source != "games":
            raise UsageError(
                f"trainer.monitor={monitor}: only data=games is validated; choose another, as train.loss"
            )
        if monitor.startswith("strength.") and not self.evaluation.every_epochs:
            raise UsageError(
                f"trainer.monitor={monitor}: evaluation.every_epochs=0 measures no strength"
            )

    def check_installed(self) -> None:
        if self.data.path is not None:
            check_there(Path(self.data.path))
        for name in self.targets:
            check_word("targets", name, (), TARGET_GROUP)
        if self.init_from is not None and self.resume is None:
            network_file(self.init_from, "init_from")

    @property
    def subject(self) -> str:
        return f"{self.board}×{self.board}"

    @property
    def without_effect(self) -> Mapping[str, str]:
        if self.data.source == "games":
            return dict.fromkeys(("selfplay", "ray"), "data=games plays no games; leave it out")
        if self.selfplay.where != "ray":
            return {
                "ray": f"selfplay.where={self.selfplay.where} uses no cluster; add selfplay.where=ray"
            }
        return {}

    @property
    def batch(self) -> int | None:
        return self.data.batch
