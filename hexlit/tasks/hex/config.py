"""The `data` section of the configuration."""

from dataclasses import dataclass

from hexlit.errors import UsageError

SOURCES = ("selfplay", "games")
SPLITS = ("game", "opening")
DUPLICATES = ("keep", "average", "merge")


@dataclass
class DataConfig:
    """What an epoch trains on: games of the network's own, recorded games, or both."""

    source: str = "selfplay"
    """`selfplay` (games that the network plays as it learns) or `games` (recorded ones; an epoch sees each once)."""
    batch: int = 512
    """Examples in one optimisation step, on every device; `accelerator.train_batch` overrides it."""
    window: int = 60_000
    """Self-play: positions in the replay window, those of the latest games."""
    reuse: float = 4.0
    """Self-play: how often a new position is drawn, on average, in the epoch after it: positions trained on / positions
    played."""
    search_value_share: float = 0.0
    """Self-play: share of the searched value in the value target; the rest is the result of the game."""
    search_value_decay: float = 0.0
    """Self-play: above 0, the searched value of the target is a mean that takes in the searches of the moves that
    follow, each weighing so many times the one before; 0: this position's own search alone."""
    surprise_share: float = 0.0
    """Self-play: share of the draws from the window that goes to positions in proportion to their policy surprise, the
    divergence of the searched policy from the network's (Wu 2019 has 0.5). The rest goes to all alike."""
    duplicates: str = "keep"
    """Self-play: equal positions of the window, up to a turn by 180 degrees, `keep` the targets of their own games, get
    the mean targets (`average`), or become one position with these, drawn no more often than any other (`merge`)."""
    path: str | None = None
    """Recorded games: the folder of a store, as `hexlit games import` or a run (`runs/.../games`) has made it."""
    mix_share: float = 0.0
    """Self-play: share of every batch that comes from the games at `path`, without those that would validate."""
    validation_share: float = 0.2
    """Recorded games: share that is held out, on which the network is validated after every epoch (of `data=games`)."""
    split: str = "game"
    """What is held out: whole games (`game`), or all games of an opening (`opening`); never positions."""
    split_seed: int = 42
    """Seed of the choice, apart from that of training, so that all runs share one validation set."""
    opening_plies: int = 2
    """Moves of an opening where `split` is opening."""
    max_positions: int = 500_000
    """Positions at most, those held out included."""
    claimed_results: bool = False
    """Whether to learn from games whose winner only the file claims: no connection and no resignation shows it."""

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise UsageError(f"data.source={self.source}: choose {' or '.join(SOURCES)}")
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
        if self.duplicates not in DUPLICATES:
            raise UsageError(f"data.duplicates={self.duplicates}: choose one of {', '.join(DUPLICATES)}")
        if not 0 <= self.mix_share < 1:
            raise UsageError(f"data.mix_share={self.mix_share}: must be at least 0 and below 1")
        if not 0 < self.validation_share < 1:
            raise UsageError(f"data.validation_share={self.validation_share}: must lie between 0 and 1")
        if self.split not in SPLITS:
            raise UsageError(f"data.split={self.split}: choose {' or '.join(SPLITS)}")
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
