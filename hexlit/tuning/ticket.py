"""The message from a sweep to the process of a trial: its trial, its study, and how it is judged."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hexlit.errors import UsageError

VARIABLE = "HEXLIT_TRIAL"
"""Environment variable that holds the ticket; set only in the processes of trials."""


@dataclass(frozen=True)
class TrialTicket:
    """One trial of a study."""

    storage: str | None
    """As `hydra.sweeper.storage`, without its password (see `hexlit.tuning.address.whole_url`)."""
    folder: str
    """Absolute path of the sweep's folder."""
    study: str
    """Name of the study."""
    trial_id: int
    """Number of the trial in the storage."""
    number: int
    """Number of the trial in the study."""
    objectives: list[str]
    monitor: str
    pruner: dict[str, Any] | None
    """Node `hydra.sweeper.pruner`; None without pruning."""
    report_every: int | None
    seeds: int
    group: str
    """Name that the trials of the sweep share."""
    sweep_id: str
    """Tells the sweep from others with the same folder's name."""
    storage_timeout: float = 0.0
    """Seconds that the trial waits for a database that does not answer: longer than its sweep does."""
    lifeline: int | None = None
    """File descriptor that closes when the sweep ends."""

    def encoded(self) -> str:
        """The ticket as text for the environment."""
        return json.dumps(asdict(self))


def ticket_of(environment: Mapping[str, str]) -> TrialTicket | None:
    """The ticket in `environment`; None outside a sweep.

    Raises:
        UsageError: the variable holds something else.
    """
    text = environment.get(VARIABLE)
    if not text:
        return None
    try:
        return TrialTicket(**json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        message = f"{VARIABLE}={text[:60]!r}: not a trial of a sweep; remove the variable, which sweeps set themselves"
        raise UsageError(message) from error
