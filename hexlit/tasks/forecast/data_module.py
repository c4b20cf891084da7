"""Windows of a table as a LightningDataModule: split by time, scaled by the training rows alone."""

from pathlib import Path
from typing import Any

import lightning as L
import numpy as np
from torch.utils.data import DataLoader

from hexlit.accelerate.loaders import make_loader
from hexlit.accelerate.profile import DeviceProfile
from hexlit.errors import UsageError
from hexlit.tasks.forecast.config import ForecastDataConfig
from hexlit.tasks.forecast.grid import Grid, build_grid
from hexlit.tasks.forecast.source import Columns, packaged_weather, read_readings
from hexlit.tasks.forecast.spec import fit_spec
from hexlit.tasks.forecast.windows import ForecastBatch, WindowBatches, Windows, WindowTable, find_windows, shuffled

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
        path = packaged_weather() if config.path is None else Path(config.path)
        columns = Columns(config.time, config.time_format, config.series, config.statics, config.columns)
        self.grid: Grid = build_grid(read_readings(path, columns), config.step_minutes)
        shares = (config.train_share, config.train_share + config.validation_share)
        self.cuts = tuple(round(share * self.grid.steps) for share in shares)
        self.spec = fit_spec(config, self.grid, self.cuts[0])
        self.table = WindowTable(self.grid, self.spec, self.cuts)
        self.windows = {split: self._find(split) for split in SPLITS}

    def train_dataloader(self) -> DataLoader[Any]:
        """Training windows in whole batches, each at most once, in an order that depends on the epoch's number."""
        assert self.trainer is not None
        order = shuffled(
            self.windows["train"], batch=self.profile.train_batch, seed=self.seed, epoch=self.trainer.current_epoch
        )
        batches = WindowBatches(self.table, self.windows["train"], order, self.profile.train_batch)
        return make_loader(batches, self.profile, batch_size=None)

    def val_dataloader(self) -> DataLoader[Any]:
        """Every validation window once, in the order of series and time."""
        return make_loader(self.in_order("validation"), self.profile, batch_size=None)

    def in_order(self, split: str) -> WindowBatches:
        """Batches of every window of `split` once, in the order of series and time."""
        windows = self.windows[split]
        return WindowBatches(self.table, windows, np.arange(len(windows)), self.profile.evaluation_batch)

    def all_of(self, split: str) -> ForecastBatch:
        """Every window of `split` as one batch."""
        windows = self.windows[split]
        return self.table.batch(windows.series, windows.origin)

    def figures(self) -> dict[str, float]:
        """Windows of the splits that training uses, for the loggers."""
        return {f"{split}_windows": float(len(self.windows[split])) for split in ("train", "validation")}

    def summary(self) -> dict[str, Any]:
        """Plain containers: windows and times of the splits, dropped windows with reasons, gaps of each series."""
        edges = (0, *self.cuts, self.grid.steps)
        times = [str(time) for time in self.grid.times(np.array(edges))]
        return {
            "windows": {split: len(found) for split, found in self.windows.items()},
            "dropped": {split: found.dropped for split, found in self.windows.items()},
            "begins": dict(zip(SPLITS, times, strict=False)),
            "end": times[-1],
            "filled": dict(zip(self.grid.columns, (int(n) for n in self.table.filled.sum((0, 1))), strict=True)),
            "series": {name: report.to_dict() for name, report in self.grid.report.items()},
        }

    def state_dict(self) -> dict[str, Any]:
        """Splits, columns and scaling."""
        return {"cuts": list(self.cuts), "spec": self.spec.to_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint, with the same rows in the same splits.

        Raises:
            UsageError: the table or its settings differ from those of the run.
        """
        now = self.state_dict()
        if now["cuts"] != state_dict["cuts"]:
            raise UsageError(
                f"data: the splits begin at steps {now['cuts']}, those of the run at {state_dict['cuts']}; keep file, "
                "data.train_share, data.validation_share and data.step_minutes to resume"
            )
        for name, was in state_dict["spec"].items():
            if now["spec"][name] != was:
                raise UsageError(f"data: {name} differs from that of the run; keep file and settings to resume")

    def _find(self, split: str) -> Windows:
        place = SPLITS.index(split)
        begin, end = (0, *self.cuts, self.grid.steps)[place : place + 2]
        found = find_windows(self.table, begin=begin, end=end, stride=self.config.stride)
        if len(found):
            return found
        needed = self.spec.history + max(self.spec.horizons)
        if end - begin < needed:
            raise UsageError(
                f"data: too few rows; the {split} split has {end - begin} steps, and a window takes {needed} "
                "(data.history + data.horizon)"
            )
        missing = np.isnan(self.grid.values[:, begin:end]).mean((0, 1))
        worst = int(np.argmax(missing))
        raise UsageError(
            f"data: every window of the {split} split has a gap; column {self.grid.columns[worst]} is missing in "
            f"{missing[worst]:.0%} of its steps; leave it out, or raise data.max_gap={self.config.max_gap}"
        )
