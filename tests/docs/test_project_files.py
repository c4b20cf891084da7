"""The files around the code say what is so: releases, citation, workflow, and the versions of packages."""

import datetime
import re
import tomllib
from itertools import chain
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

import hexlit
from tests.docs.pages import ROOT

KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
"""Headings below a release, of https://keepachangelog.com."""


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def read_yaml(name: str) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    return found


def releases() -> list[tuple[str, str]]:
    """Version and date of each release, as CHANGELOG.md has them."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return re.findall(r"^## \[(.+)\] - (.+)$", text, re.MULTILINE)


@pytest.mark.row("F16")
def test_the_newest_release_is_this_version() -> None:
    version, date = releases()[0]
    assert version == hexlit.__version__
    assert datetime.date.fromisoformat(date)


@pytest.mark.row("F16")
def test_the_citation_is_valid() -> None:
    """The fields that the Citation File Format 1.2.0 demands, and those that repeat what stands elsewhere."""
    citation = read_yaml("CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] in ("software", "dataset")
    assert all(isinstance(citation[key], str) and citation[key] for key in ("title", "message", "abstract"))
    assert citation["authors"]
    for author in citation["authors"]:
        assert author.get("name") or (author.get("family-names") and author.get("given-names"))
    assert (citation["version"], str(citation["date-released"])) == releases()[0]
    assert citation["license"] == project()["license"]
    assert citation["title"] == project()["name"]
    assert citation["keywords"] == project()["keywords"]


@pytest.mark.row("F16")
def test_every_dependency_has_a_lowest_version_and_one_alone() -> None:
    found: dict[str, set[str]] = {}
    for line in chain(project()["dependencies"], *project()["optional-dependencies"].values()):
        requirement = Requirement(line)
        if requirement.name == "hexlit":
            continue
        assert any(one.operator in (">=", "==", "~=") for one in requirement.specifier), f"{line}: no lowest version"
        found.setdefault(requirement.name, set()).add(str(requirement.specifier))
    assert {name: kinds for name, kinds in found.items() if len(kinds) > 1} == {}


@pytest.mark.row("F16")
def test_every_room_is_named_for_contributors() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = [path.name for path in (ROOT / "hexlit").iterdir() if (path / "__init__.py").exists()]
    assert [room for room in rooms if f"`{room}`" not in page] == []
