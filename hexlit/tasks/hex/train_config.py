"""The configuration of `hexlit train task=hex`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hexlit.accelerate.config import AcceleratorConfig
from hexlit.arena.config import EvaluationConfig
from hexlit.cluster.config import RayConfig
from hexlit.errors import UsageError
from hexlit.nets.config import REPLY, SOFT, NetConfig
from hexlit.search.config import SearchConfig
from hexlit.selfplay.config import SelfPlayConfig, check_search
from hexlit.tasks.hex.config import DataConfig
from hexlit.tasks.run_config import RunConfig

LARGEST_BOARD = 19


@dataclass
class HexTrainConfig(RunConfig):
    """Settings of `hexlit train task=hex`."""

    board: int = 5
    """Rows of the board, 2 to 19."""
    swap: bool = False
    """Whether White may answer the first move with swap-pieces."""
    init_from: str | None = None
    """Network at the start of a new run: a checkpoint, the folder of a run, or `hexlit:NAME`. Null: random weights."""
    policy_weight: float = 1.0
    """Weight of the policy loss in the total loss."""
    value_weight: float = 1.0
    """Weight of the value loss in the total loss."""
    reply_weight: float = 0.0
    """Self-play: weight of the loss of a further policy head for the opponent's searched policy one ply later (Wu 2019
    has 0.15). Positions whose next search was not recorded add nothing; with `selfplay.full_share=0.25` these are three
    of four. 0: no such head."""
    soft_weight: float = 0.0
    """Self-play: weight of the loss of a further policy head for the searched policy to the power 1/4, normalised
    (KataGo has 8 times the policy's weight). 0: no such head."""
    net: NetConfig = field(default_factory=NetConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    ray: RayConfig = field(default_factory=RayConfig)
    data: DataConfig = field(default_factory=DataConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.board <= LARGEST_BOARD:
            raise UsageError(f"board={self.board}: networks and search take boards of 2 to {LARGEST_BOARD} rows")
        check_search(self.search)
        for name in ("policy_weight", "value_weight", "reply_weight", "soft_weight"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(f"{name}={getattr(self, name)}: must be 0 or more")
        if self.policy_weight == self.value_weight == 0:
            raise UsageError("policy_weight=0 and value_weight=0: nothing would be learned; give one of them a weight")
        if self.auxiliary and self.data.path is not None:
            name = f"{next(iter(self.auxiliary))}_weight"
            raise UsageError(
                f"{name}={getattr(self, name)}: needs searched policies, which the recorded games of data.path lack; "
                "leave it at 0"
            )
        if self.accelerator.persistent_workers is not None:
            raise UsageError(
                f"accelerator.persistent_workers={str(self.accelerator.persistent_workers).lower()}: it has no effect "
                "on Hex, whose loaders are made again with each epoch's positions; leave it out"
            )
        self._check_monitor()

    def _check_monitor(self) -> None:
        """Refuse a `trainer.monitor` that is not measured; the run itself would notice only in its last epoch."""
        monitor = self.trainer.monitor
        if monitor.startswith("val.") and self.data.source != "games":
            raise UsageError(
                f"trainer.monitor={monitor}: only data=games is validated; with self-play choose strength.score, or "
                "train.loss with trainer.monitor_mode=min"
            )
        if monitor.startswith("strength.") and not self.evaluation.every_epochs:
            loss = "val.loss" if self.data.source == "games" else "train.loss"
            raise UsageError(
                f"trainer.monitor={monitor}: evaluation.every_epochs=0 measures no strength; measure it, or choose "
                f"trainer.monitor={loss} trainer.monitor_mode=min"
            )

    @property
    def auxiliary(self) -> Mapping[str, float]:
        """Weights of the learned auxiliary targets, by name."""
        return {name: weight for name, weight in ((REPLY, self.reply_weight), (SOFT, self.soft_weight)) if weight}

    @property
    def subject(self) -> str:
        return f"{self.board}×{self.board}"

    @property
    def without_effect(self) -> Mapping[str, str]:
        if self.data.source == "games":
            reason = "data=games plays no games of its own; leave it out"
            return {"selfplay": reason, "ray": reason}
        if self.selfplay.where != "ray":
            return {"ray": f"selfplay.where={self.selfplay.where} uses no cluster; add selfplay.where=ray"}
        return {}

    @property
    def hardware(self) -> AcceleratorConfig:
        """Examples per step come from the recipe, unless the hardware's section overrides them."""
        asked = self.accelerator
        return replace(asked, train_batch=self.data.batch if asked.train_batch is None else asked.train_batch)
