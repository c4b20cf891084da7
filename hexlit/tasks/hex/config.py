"""The `data` section of the configuration."""

from dataclasses import dataclass

from hexlit.choices import check_words, one_of
from hexlit.errors import UsageError

SOURCES = ("selfplay", "games")
SPLITS = ("game", "opening")


@dataclass
class DataConfig:
    """Training data of an epoch: games of the network's own, recorded games, or both."""

    source: str = one_of(SOURCES, "selfplay")
    """Source of games: `selfplay` (the network plays as it learns) or `games` (recorded; an epoch uses each once)."""
    batch: int = 512
    """Examples in one optimisation step, on every device; `accelerator.train_batch` overrides it."""
    window: int = 60_000
    """Self-play: number of positions in the replay window; it holds the latest games."""
    reuse: float = 4.0
    """Self-play: average draws of a new position in the next epoch: positions trained on / positions played."""
    search_value_share: float = 0.0
    """Self-play: share of the searched value in the value target; the rest is the result of the game."""
    search_value_decay: float = 0.0
    """Self-play: decay per move of later searches in the searched value of the target. Above 0, that value is a mean
    over this search and those of the following moves. 0: this position's own search alone."""
    surprise_share: float = 0.0
    """Self-play: share of the draws in proportion to a position's policy surprise. That is the divergence of the
    searched policy from the network's (Wu 2019 has 0.5). The other draws are uniform."""
    path: str | None = None
    """Recorded games: the folder of a store, made by `hexlit games import` or by a run (`runs/.../games`)."""
    mix_share: float = 0.0
    """Self-play: share of every batch from the games at `path`, without those for validation."""
    validation_share: float = 0.2
    """Recorded games: share held out for validation after every epoch (of `data=games`)."""
    split: str = one_of(SPLITS, "game")
    """Unit of holding out: whole games (`game`), or all games of an opening (`opening`); never positions."""
    split_seed: int = 42
    """Seed of the choice. It is separate from that of training, so that all runs share one validation set."""
    opening_plies: int = 2
    """Number of moves in an opening, for `split=opening`."""
    max_positions: int = 500_000
    """Most positions, including those held out."""
    claimed_results: bool = False
    """Whether to use games whose winner only the file claims, without a connection or a resignation."""

    def __post_init__(self) -> None:
        check_words(self, "data")
        if self.batch < 1:
            raise UsageError(f"data.batch={self.batch}: a step takes at least 1 example")
        if self.window < 1:
            raise UsageError(f"data.window={self.window}: a window holds at least 1 position")
        if self.reuse <= 0:
            raise UsageError(f"data.reuse={self.reuse}: must be above 0")
        for name in ("search_value_share", "surprise_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"data.{name}={getattr(self, name)}: a share lies between 0 and 1")
        if not 0 <= self.search_value_decay < 1:
            raise UsageError(f"data.search_value_decay={self.search_value_decay}: must be at least 0 and below 1")
        if not 0 <= self.mix_share < 1:
            raise UsageError(f"data.mix_share={self.mix_share}: must be at least 0 and below 1")
        if not 0 < self.validation_share < 1:
            raise UsageError(f"data.validation_share={self.validation_share}: must lie between 0 and 1")
        if self.split_seed < 0:
            raise UsageError(f"data.split_seed={self.split_seed}: must be 0 or more")
        for name, least in (("opening_plies", 1), ("max_positions", 2)):
            if getattr(self, name) < least:
                raise UsageError(f"data.{name}={getattr(self, name)}: must be {least} or more")
        self._check_path()

    def _check_path(self) -> None:
        if self.path is not None and not self.path:
            raise UsageError("data.path='': the folder of a store of games, or null")
        if self.path is None and self.source == "games":
            raise UsageError("data.path=null: data=games needs a store of games; make one by hexlit games import")
        if self.path is None and self.mix_share:
            raise UsageError(f"data.mix_share={self.mix_share}: needs the games to mix in, data.path=FOLDER")
        if self.source == "games" and self.mix_share:
            raise UsageError(f"data.mix_share={self.mix_share}: mixes games into self-play; data.source is games")
        if self.path is not None and self.source == "selfplay" and not self.mix_share:
            raise UsageError(
                f"data.path={self.path}: self-play does not read it; choose data=games, or mix the games in, such as "
                "data.mix_share=0.25"
            )
