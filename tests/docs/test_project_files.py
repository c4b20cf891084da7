"""The files around the code say what is so: releases,
citation, workflow, and the versions of packages.
"""

import datetime
import re
import tomllib
from itertools import chain
from typing import Any

import yaml
from packaging.requirements import Requirement

import hexlit
from tests.docs.pages import ROOT

KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
"""Headings below a release, of https://keepachangelog.com."""


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    return found


def changelog() -> str:
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def releases() -> list[tuple[str, str]]:
    """Version and date of each release, as CHANGELOG.md has them."""
    return re.findall(r"^## \[(.+)\] - (.+)$", changelog(), re.MULTILINE)


def test_the_version_is_the_newest_release_or_that_in_the_making() -> None:
    version, date = releases()[0]
    following = re.search(r"The next version is ([\d.]+)\.\s", changelog())
    assert hexlit.__version__ == (f"{following[1]}.dev0" if following else version)
    assert datetime.date.fromisoformat(date)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["version"], str(citation["date-released"])) == (version, date)


def test_every_dependency_has_a_lowest_version_and_one_alone() -> None:
    found: dict[str, set[str]] = {}
    for line in chain(project()["dependencies"], *project()["optional-dependencies"].values()):
        requirement = Requirement(line)
        if requirement.name == "hexlit":
            continue
        assert any(one.operator in (">=", "==", "~=") for one in requirement.specifier), (
            f"{line}: no lowest version"
        )
        found.setdefault(requirement.name, set()).add(str(requirement.specifier))
    assert {name: kinds for name, kinds in found.items() if len(kinds) > 1} == {}


def test_every_room_is_named_for_contributors() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    folders = [path for path in (ROOT / "hexlit").iterdir() if not path.is_symlink()]
    rooms = [path.name for path in folders if (path / "__init__.py").exists()]
    assert [room for room in rooms if f"`{room}`" not in page] == []
