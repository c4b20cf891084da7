"""`hexlit train --help sampler` and the like: Hydra's groups, each option with its settings."""

import importlib
import inspect
import re
from dataclasses import fields

import optuna
import pytest
from hydra._internal.core_plugins.basic_sweeper import BasicSweeperConf

from hexlit.cli import main
from hexlit.commands.manual.conf_files import CONF, described, load
from hexlit.commands.manual.taken import taken

Captured = pytest.CaptureFixture[str]
PRUNERS = CONF / "hydra" / "sweeper" / "pruner"


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("name", ["sampler", "pruner", "launcher", "sweeper", "hydra/sweeper/pruner"])
def test_a_group_of_hydra_is_told_with_the_settings_of_each_option(name: str, capsys: Captured) -> None:
    assert main(["train", "--help", name]) == 0
    out = capsys.readouterr().out
    (group,) = [one for one in taken("train").groups if one.is_called(name)]
    assert sum(len(own) for own in group.settings.values()) > 5
    rows = re.split(r"^(?:\*| ) (?=\w)", out, flags=re.MULTILINE)[1:]
    assert [row.split()[0] for row in rows] == list(group.options)
    for row, own in zip(rows, group.settings.values(), strict=True):
        told = re.findall(r"^    ([\w.]+): ", row, re.MULTILINE)
        assert told == [one.key.removeprefix(f"{group.name.replace('/', '.')}.") for one in own]
        assert [one.key for one in own if not one.meaning or one.meaning not in " ".join(row.split())] == []
    assert max(map(len, out.splitlines())) <= 80


def test_a_setting_of_the_option_in_use_has_the_value_of_the_command_line(capsys: Captured) -> None:
    line = ["hydra/sweeper/pruner=eager", "hydra.sweeper.pruner.n_warmup_steps=7"]
    assert main(["train", *line, "--help", "pruner"]) == 0
    assert "    n_warmup_steps: 7 " in capsys.readouterr().out
    assert main(["train", "sweep=quick", "hydra.sweeper.sampler.n_ei_candidates=9", "--help", "sampler"]) == 0
    assert "    n_ei_candidates: 9 " in capsys.readouterr().out


def same_settings(place: str, other: type) -> None:
    """Fail unless the dataclass at `place` has the settings and the defaults of `other`."""
    module, _, name = place.partition(":")
    known = {one.name: (one.default, one.default_factory) for one in fields(other) if not one.name.startswith("_")}
    ours = {
        one.name: (one.default, one.default_factory) for one in fields(getattr(importlib.import_module(module), name))
    }
    assert ours == known


def test_settings_of_launchers_and_of_the_basic_sweeper_are_those_of_hydra_and_its_plugins() -> None:
    place = "hexlit.commands.manual.launching"
    same_settings(f"{place}:BasicSweeper", BasicSweeperConf)
    joblib = pytest.importorskip("hydra_plugins.hydra_joblib_launcher.config", reason="an extra")
    same_settings(f"{place}:Joblib", joblib.JobLibLauncherConf)
    submitit = pytest.importorskip("hydra_plugins.hydra_submitit_launcher.config", reason="an extra")
    same_settings(f"{place}:SubmititLocal", submitit.LocalQueueConf)
    same_settings(f"{place}:SubmititSlurm", submitit.SlurmQueueConf)


@pytest.mark.parametrize("option", sorted(path.stem for path in PRUNERS.glob("*.yaml")))
def test_every_value_of_a_pruner_is_an_argument_of_its_class_and_has_a_comment(option: str) -> None:
    path = PRUNERS / f"{option}.yaml"
    known = inspect.signature(getattr(optuna.pruners, load(path)["_target_"].rpartition(".")[2])).parameters
    for key, _, comment in described(path):
        if not key.endswith("_target_"):
            assert key.partition(".")[0] in known
            assert comment
