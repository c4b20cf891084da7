"""Every entry of the groups of samplers and pruners can be made,
as it stands and with what people change.
"""

from pathlib import Path
from typing import cast

import optuna
import pytest
from omegaconf import OmegaConf
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from hexlit.errors import UsageError
from hexlit.tuning.config import SweepConfig, directions_of
from hexlit.tuning.samplers import build_pruner, build_sampler

SAMPLERS = Path(__file__).parents[2] / "conf" / "hydra" / "sweeper" / "sampler"
PRUNERS = Path(__file__).parents[2] / "conf" / "hydra" / "sweeper" / "pruner"
SPACE = {"x": FloatDistribution(0, 1), "n": IntDistribution(1, 8)}


def draws(sampler: optuna.samplers.BaseSampler, trials: int = 14) -> list[dict[str, float]]:
    study = optuna.create_study(sampler=sampler)
    for _ in range(trials):
        trial = study.ask(dict(SPACE))
        study.tell(trial, (trial.params["x"] - 0.3) ** 2)
    return [trial.params for trial in study.trials]


@pytest.mark.parametrize(
    "name", sorted({path.stem for path in SAMPLERS.glob("*.yaml")} - {"grid", "motpe"})
)
def test_every_sampler_proposes_and_is_reproducible(name: str) -> None:
    node = OmegaConf.load(SAMPLERS / f"{name}.yaml")
    once, again = (draws(build_sampler(node, SPACE, seed=5)) for _ in range(2))
    assert once == again
    assert len({tuple(params.values()) for params in once}) > 10
    assert once != draws(build_sampler(node, SPACE, seed=6))
    if name != "qmc":  # it has its place in its sequence in the study
        assert once[:3] != draws(build_sampler(node, SPACE, seed=5, trials_before=3), 3), (
            "a resumed one draws on"
        )


def test_the_grid_is_that_of_the_space() -> None:
    space = {"a": CategoricalDistribution([1, 2]), "b": IntDistribution(0, 2)}
    sampler = build_sampler(OmegaConf.load(SAMPLERS / "grid.yaml"), space, seed=1)
    study = optuna.create_study(sampler=sampler)
    for _ in range(6):
        study.tell(study.ask(dict(space)), 0.0)
    assert len({tuple(sorted(trial.params.items())) for trial in study.trials}) == 6
    with pytest.raises(UsageError, match="x"):
        build_sampler(OmegaConf.load(SAMPLERS / "grid.yaml"), SPACE, seed=1)


@pytest.mark.parametrize("path", sorted(PRUNERS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_pruner_can_be_made(path: Path) -> None:
    node = cast(dict[str, object], OmegaConf.to_container(OmegaConf.load(path)))
    if path.stem == "threshold":
        with pytest.raises(UsageError, match=r"hydra\.sweeper\.pruner"):
            build_pruner(node)
        node["lower"] = 0.5
    pruner = build_pruner(node)
    name = {"none": "nop", "eager": "median"}.get(path.stem, path.stem.replace("_", ""))
    assert type(pruner).__name__.lower().startswith(name)


def test_directions() -> None:
    judged = SweepConfig(objective="strength.score")
    assert directions_of("minimize", judged) == ["minimize"]
    for wrong in (None, "up", ["minimize", "maximize"], 3):
        with pytest.raises(UsageError, match=r"hydra\.sweeper\.direction"):
            directions_of(wrong, judged)
