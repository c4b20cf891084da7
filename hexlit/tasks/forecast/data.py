"""Windows of a table as a LightningDataModule: split by time, scaled by the training rows alone."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import lightning as L
import numpy as np
from torch.utils.data import DataLoader

from hexlit.accelerate.loaders import make_loader
from hexlit.accelerate.profile import DeviceProfile
from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastDataConfig
from hexlit.tasks.forecast.grid import read_grid
from hexlit.tasks.forecast.windows import ForecastBatch, Windows, WindowTable, fit_spec, in_batches

SPLITS = ("train", "validation", "test")


class ForecastDataModule(L.LightningDataModule):
    """Training, validation and test windows of one table.

    The time axis is cut at the same two times for all series. Past and targets of a window lie on one side of a cut, so
    no row is in windows of two splits.

    Attributes:
        grid: the table on a regular grid.
        spec: columns, window and scaling.
        cuts: first steps of validation and of test, on the grid.
        windows: by split.
    """

    def __init__(self, config: ForecastDataConfig, *, seed: int, profile: DeviceProfile) -> None:
        """Read and split the table of `config`. `seed` decides the order in each epoch.

        Raises:
            UsageError: the table cannot be read, or a split has no window.
        """
        super().__init__()
        self.config = config
        self.seed = seed
        self.profile = profile
        self.grid = read_grid(config.file, config)
        shares = (config.train_share, config.train_share + config.validation_share)
        self.cuts = tuple(round(share * self.grid.steps) for share in shares)
        self.spec = fit_spec(config, self.grid, self.cuts[0])
        self.table = WindowTable(self.grid, self.spec, self.cuts)
        self.windows = {split: self._find(split) for split in SPLITS}

    def train_dataloader(self) -> DataLoader[Any]:
        """Training windows in whole batches, each at most once, in an order that depends on seed and epoch alone.

        The windows left over differ from epoch to epoch. Fewer windows than a batch are one smaller batch.
        """
        assert self.trainer is not None
        windows, size = self.windows["train"], self.profile.train_batch
        order = np.random.default_rng([self.seed, self.trainer.current_epoch]).permutation(len(windows))
        order = order[: max(len(order) // size * size, min(size, len(order)))]
        return make_loader(windows, self.profile, sampler=in_batches(order, size), batch_size=None)

    def val_dataloader(self) -> DataLoader[Any]:
        """Every validation window once, in the order of series and time."""
        windows = self.windows["validation"]
        rows = in_batches(np.arange(len(windows)), self.profile.evaluation_batch)
        return make_loader(windows, self.profile, sampler=rows, batch_size=None)

    def in_order(self, split: str) -> Iterator[ForecastBatch]:
        """Batches of every window of `split` once, in the order of series and time."""
        return self.windows[split].batches(self.profile.evaluation_batch)

    def figures(self) -> dict[str, float]:
        """Windows of the splits that training uses, for the loggers."""
        return {f"{split}_windows": float(len(self.windows[split])) for split in ("train", "validation")}

    def summary(self) -> dict[str, Any]:
        """Plain containers: windows and times of the splits, dropped windows with reasons, gaps of each series."""
        times = [str(time) for time in self.grid.times(np.array((0, *self.cuts, self.grid.steps)))]
        return {
            "windows": {split: len(windows) for split, windows in self.windows.items()},
            "dropped": {split: windows.dropped for split, windows in self.windows.items()},
            "begins": dict(zip(SPLITS, times, strict=False)),
            "end": times[-1],
            "filled": dict(zip(self.spec.values, self.table.filled.sum((0, 1)).tolist(), strict=True)),
            "series": self.grid.report,
        }

    def state_dict(self) -> dict[str, Any]:
        """Splits, columns and scaling."""
        return {"cuts": list(self.cuts), "spec": asdict(self.spec)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint, with the same rows in the same splits.

        Raises:
            UsageError: the table or its settings differ from those of the run.
        """
        now, was = ({"cuts": state["cuts"], **state["spec"]} for state in (self.state_dict(), state_dict))
        for name, value in was.items():
            if now[name] != value:
                raise UsageError(f"data: {name} differs from that of the run; keep file and settings to resume")

    def _find(self, split: str) -> Windows:
        number = SPLITS.index(split)
        begin, end = (0, *self.cuts, self.grid.steps)[number : number + 2]
        windows = Windows(self.table, begin, end, self.config.stride)
        if len(windows):
            return windows
        needed = self.spec.history + max(self.spec.horizons)
        if end - begin < needed:
            raise UsageError(
                f"data: too few rows; the {split} split has {end - begin} steps, and a window takes {needed} "
                "(data.history + data.horizon)"
            )
        missing = np.isnan(self.grid.values[:, begin:end]).mean((0, 1))
        worst = int(np.argmax(missing))
        raise UsageError(
            f"data: every window of the {split} split has a gap; column {self.spec.values[worst]} is missing in "
            f"{missing[worst]:.0%} of its steps; leave it out, or raise data.max_gap={self.config.max_gap}"
        )
