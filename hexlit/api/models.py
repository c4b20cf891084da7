"""A trained model of any task: it predicts; a model of Hex also searches, plays and is measured against the truth."""

import shlex
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hexlit.api.openings import OpeningMap
from hexlit.api.searched import Opinion, Searched
from hexlit.api.searching import Search
from hexlit.errors import UsageError
from hexlit.hex.board import Board

if TYPE_CHECKING:
    import pandas as pd

    from hexlit.tasks.hex.checkpoint import LoadedNetwork

HEX = "hex"


class Model:
    """The network of a checkpoint."""

    def __init__(self, checkpoint: str | Path) -> None:
        """Of a checkpoint, of the best one in the folder of a run, or a packaged network such as `hexlit:small`.

        Raises:
            UsageError: there is none.
        """
        from hexlit.commands.predict import task_of
        from hexlit.tasks.hex.checkpoint import network_file
        from hexlit.tasks.hex.packaged import is_packaged

        self.checkpoint = network_file(checkpoint)
        self._source = str(checkpoint if is_packaged(checkpoint) else self.checkpoint)
        self.task = task_of(self.checkpoint)

    @cached_property
    def network(self) -> "LoadedNetwork":
        """The policy/value network of a model of Hex; raises `UsageError` for other tasks."""
        from hexlit.tasks.hex.checkpoint import load_network

        self._of_hex("network")
        return load_network(self.checkpoint)

    @property
    def board(self) -> int:
        """The size of the board that the network was trained on."""
        return self.network.size

    def search(self, board: Board, simulations: int = 400, algorithm: str = "gumbel") -> Searched:
        """Search a position; see `hexlit.Search`, which is faster for many of them."""
        return Search(self, simulations=simulations, algorithm=algorithm).run(board)

    def openings(self, simulations: int = 64, size: int | None = None) -> OpeningMap:
        """Search every first move of Black; `size` None is that of the training."""
        return Search(self, simulations=simulations).openings(size or self.board)

    def player(self, simulations: int = 64, name: str = "", algorithm: str = "gumbel") -> str:
        """The model as a player of `hexlit.match`; 0 simulations: the policy alone."""
        self._of_hex("player")
        source = shlex.quote(self._source)
        named = f" name={shlex.quote(name)}" if name else ""
        if simulations == 0:
            return f"policy={source}{named}"
        return f"checkpoint={source} simulations={simulations} algorithm={algorithm}{named}"

    def evaluate(self, **settings: Any) -> dict[str, Any]:
        """Measure the model again: a model of Hex against the exact truth, with the settings of `hexlit strength`.

        Returns:
            Plain values, those of `strength.json`.

        Raises:
            UsageError: the task measures its models only while they are trained.
        """
        from hexlit.commands.tasks import found, known_tasks

        entry = known_tasks().get(self.task)
        if entry is None or entry.evaluate is None:
            raise UsageError(f"evaluate: a model of task {self.task} is measured by its run alone; see its summary")
        document: dict[str, Any] = found(entry.evaluate)(self.checkpoint, **settings)
        return document

    def look(self, board: Board) -> Opinion:
        """The opinion of a network of Hex without search: its policy and its value."""
        return Search(self, simulations=1).look(board)

    def predict(self, data: "str | Path | Sequence[str] | pd.DataFrame") -> "pd.DataFrame":
        """Apply the model to new data, as `hexlit predict` does.

        Args:
            data: a table with the columns of the training: a data frame, or the name of a CSV or Parquet file. Models
                that read texts also take one text, or a list of them.

        Raises:
            UsageError: the model takes no such data.
        """
        from hexlit.commands.tasks import found, known_tasks

        entry = known_tasks().get(self.task)
        if entry is None or entry.predict is None:
            raise UsageError(f"predict: a model of task {self.task} takes no table; see search and look")
        import pandas as pd

        with TemporaryDirectory() as folder:
            source, target = Path(folder) / "source.parquet", Path(folder) / "target.parquet"
            if isinstance(data, str | Path) and Path(data).suffix in (".csv", ".parquet"):
                source = Path(data)
            else:
                self._table(data).to_parquet(source)
            found(entry.predict)(self.checkpoint, source, target)
            return pd.read_parquet(target)

    def _table(self, data: Any) -> "pd.DataFrame":
        import pandas as pd

        if isinstance(data, pd.DataFrame):
            return data
        import torch

        texts = [data] if isinstance(data, str) else list(data)
        settings = torch.load(self.checkpoint, map_location="cpu", weights_only=True)["hyper_parameters"]
        if "column" not in settings or not all(isinstance(text, str) for text in texts):
            raise UsageError(f"predict: a model of task {self.task} takes a data frame, or a CSV or Parquet file")
        return pd.DataFrame({settings["column"]: texts})

    def _of_hex(self, what: str) -> None:
        if self.task != HEX:
            raise UsageError(f"{what}: a model of task {self.task} plays no Hex")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of task {self.task}: {self._source}>"
