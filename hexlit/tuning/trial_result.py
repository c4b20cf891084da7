"""One trial of a sweep: its fields, each with its meaning, its JSON type, its unit and its column.

`overall_results.json`, its schema, `leaderboard.csv` and the tables for people are made from these fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from hexlit.reporting.sweep import FLAGS
from hexlit.tuning.curves import Curves
from hexlit.tuning.parameters import Value

COMPLETE, PRUNED, FAILED, RUNNING, INTERRUPTED = "complete", "pruned", "failed", "running", "interrupted"
STATES = (COMPLETE, PRUNED, FAILED, RUNNING, INTERRUPTED)

EPOCHS, SECONDS, BYTES = "epochs", "seconds", "bytes"
"""Units of columns; a column without one has plain numbers."""

_COUNT = {"$ref": "#/$defs/count"}
_AMOUNT = {"$ref": "#/$defs/amount"}
_NUMBER = {"type": ["number", "null"]}
_TEXT = {"type": ["string", "null"]}


@dataclass(frozen=True)
class Meaning:
    """How a field of `TrialResult` is written and shown."""

    json: Mapping[str, Any]
    """JSON schema of its values."""
    description: str = ""
    unit: str | None = None
    column: str | None = None
    """Heading in `leaderboard.csv`; None: the field has no column."""
    several: bool = False
    """Whether each of its values has a column of its own instead, under its own name."""
    heading: str | None = None
    """Heading in the tables for people; None: they do not show it as a column."""
    dropped: int | None = None
    """Position in the order of columns that a narrow table drops; None: it keeps this one."""


def _means(json: Mapping[str, Any], description: str = "", **shown: Any) -> dict[str, Meaning]:
    return {"meaning": Meaning(json, description, **shown)}


@dataclass(frozen=True)
class TrialResult:
    """One trial, as far as it is known. The files of results contain the fields that have a `Meaning`."""

    rank: int | None = field(
        default=None,
        kw_only=True,
        metadata=_means(
            {"type": ["integer", "null"], "minimum": 1}, "null unless ranked; the best has 1", column="rank"
        ),
    )
    number: int = field(metadata=_means({"type": "integer", "minimum": 0}, "in the study", column="trial"))
    state: str = field(
        metadata=_means({"enum": list(STATES)}, "interrupted: killed with its sweep, it does not count", column="state")
    )
    values: tuple[float, ...] | None = field(
        default=None,
        kw_only=True,
        metadata=_means(
            {"type": ["array", "null"], "items": _NUMBER},
            "of the objectives; null unless complete",
            column="value",
            several=True,
        ),
    )
    comparable: float | None = field(
        default=None,
        kw_only=True,
        metadata=_means(
            _NUMBER,
            "the loss that all trials weigh alike (sweep.comparable), at the end of the trial",
            column="comparable",
            heading="comparable",
            dropped=5,
        ),
    )
    loss: float | None = field(
        default=None,
        kw_only=True,
        metadata=_means(_NUMBER, "the final total with the weights of this trial", column="loss"),
    )
    losses: Mapping[str, float | None] = field(
        default_factory=dict,
        kw_only=True,
        metadata=_means(
            {"type": "object", "additionalProperties": _NUMBER},
            "the other final losses over the same data, by name",
            column="loss",
            several=True,
            heading="loss",
            dropped=3,
        ),
    )
    epochs: int | None = field(
        default=None,
        kw_only=True,
        metadata=_means(_COUNT, "epochs done", unit=EPOCHS, column="epochs", heading="epochs", dropped=4),
    )
    max_epochs: int | None = field(
        default=None, kw_only=True, metadata=_means(_COUNT, "epochs that it would have done", unit=EPOCHS)
    )
    seconds: float | None = field(
        default=None,
        kw_only=True,
        metadata=_means(
            _AMOUNT,
            "wall time; of a running trial that up to now",
            unit=SECONDS,
            column="seconds",
            heading="time",
            dropped=6,
        ),
    )
    host_peak_bytes: int | None = field(
        default=None,
        kw_only=True,
        metadata=_means(_COUNT, "most host memory", unit=BYTES, column="host_peak_bytes", heading="memory", dropped=2),
    )
    device_peak_bytes: int | None = field(
        default=None,
        kw_only=True,
        metadata=_means(
            _COUNT, "most device memory", unit=BYTES, column="device_peak_bytes", heading="device memory", dropped=1
        ),
    )
    flags: tuple[str, ...] = field(
        default=(),
        kw_only=True,
        metadata=_means(
            {"type": "array", "items": {"enum": list(FLAGS)}, "uniqueItems": True},
            "; ".join(f"{flag}: {meaning}" for flag, meaning in FLAGS.items()),
            column="flags",
        ),
    )
    failure: str | None = field(
        default=None, kw_only=True, metadata=_means(_TEXT, "why it failed or was interrupted", column="failure")
    )
    folder: str | None = field(
        default=None,
        kw_only=True,
        metadata=_means(_TEXT, "name inside the sweep's folder; null without such a folder", column="folder"),
    )
    params: Mapping[str, Value] = field(
        default_factory=dict,
        kw_only=True,
        metadata=_means(
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/value"}},
            "what was sampled",
            column="parameter",
            several=True,
        ),
    )
    overrides: tuple[str, ...] = field(
        default=(),
        kw_only=True,
        metadata=_means({"type": "array", "items": {"type": "string"}}, "all overrides of the trial's run"),
    )
    latest: float | None = field(
        default=None, kw_only=True, metadata=_means(_NUMBER, "the last value reported to the pruner")
    )
    started: float | None = field(
        default=None, kw_only=True, metadata=_means(_NUMBER, "seconds since 1970", unit=SECONDS)
    )
    ended: float | None = field(
        default=None, kw_only=True, metadata=_means(_NUMBER, "seconds since 1970", unit=SECONDS)
    )
    attempts: int = field(
        default=1,
        kw_only=True,
        metadata=_means({"type": "integer", "minimum": 1}, "2 where it began again after it ran out of memory"),
    )
    retry_of: int | None = field(
        default=None, kw_only=True, metadata=_means(_COUNT, "number of the interrupted trial that this one does again")
    )

    intermediate: Mapping[int, float] = field(default_factory=dict, kw_only=True)
    """Values reported to the pruner, by epoch."""
    saved_seconds: float | None = field(default=None, kw_only=True)
    """Seconds saved by pruning it, as the trial itself estimates; None without an estimate."""
    curves: Curves = field(default_factory=Curves, kw_only=True)
    """Its metrics; with several seeds their mean."""


MEANINGS: dict[str, Meaning] = {
    one.name: one.metadata["meaning"] for one in fields(TrialResult) if "meaning" in one.metadata
}
"""The fields in the files of results, in the order of their columns."""


def as_row(trial: TrialResult) -> dict[str, Any]:
    """The content of the files of results for `trial`, by field."""
    return {name: getattr(trial, name) for name in MEANINGS}


def trial_schema() -> dict[str, Any]:
    """JSON schema of `as_row`; `$defs.trial` of the schema file must equal it."""
    properties = {}
    for name, meaning in MEANINGS.items():
        properties[name] = dict(meaning.json)
        if meaning.unit is not None:
            properties[name]["unit"] = meaning.unit
        if meaning.description:
            properties[name]["description"] = meaning.description
    return {"type": "object", "additionalProperties": False, "required": list(MEANINGS), "properties": properties}
