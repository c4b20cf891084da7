"""The README is short, and what it and the pages of `docs/` show is what there is."""

import contextlib
import io
import re
from pathlib import Path

import yaml

import hexlit

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {
    path.relative_to(ROOT / "docs").as_posix(): path.read_text()
    for path in (ROOT / "docs").rglob("*.md")
}
MOST_BYTES = 9_000


def block(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```", README, re.DOTALL)
    assert found is not None, name
    return found[1]


def test_it_is_short_and_begins_with_a_picture() -> None:
    assert len(README.encode()) <= MOST_BYTES
    picture = re.search(r"!\[.+\]\((.+\.svg)\)", README.partition("\n## ")[0])
    assert picture is not None
    assert (ROOT / picture[1]).read_text(encoding="utf-8").startswith("<svg")


def test_the_python_example_finds_what_its_comment_says() -> None:
    room: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(block("python-example"), room)  # our own text
    solution = room["solution"]
    assert (solution.winner, solution.moves) == ("White", ["c2"])  # type: ignore[attr-defined]
    assert room["found"].move == "c2"  # type: ignore[attr-defined]
    assert block("python-example") in PAGES["python.md"]


def test_every_experiment_and_group_option_is_named() -> None:
    text = README + "".join(page for name, page in PAGES.items() if name != "reference.md")
    groups = (
        "experiment",
        "accelerator",
        "net",
        "search",
        "selfplay",
        "optimizer",
        "logger",
        "sweep",
    )
    for group in (*groups, "hydra/sweeper/pruner"):
        for option in (ROOT / "conf" / group).glob("*.yaml"):
            assert f"`{option.stem}`" in text, f"{group}={option.stem}"


def test_every_public_name_has_its_place_in_the_api() -> None:
    text = "".join(page for name, page in PAGES.items() if name.startswith("api/"))
    for name in hexlit.__all__:
        assert re.search(rf"^::: hexlit\.{name}$", text, re.MULTILINE), name


def test_every_page_is_in_the_navigation() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = yaml.safe_load(settings.partition("\nnav:")[2])
    pages = _pages_of(nav)
    notebooks = [f"notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")]
    assert sorted(pages) == sorted([*PAGES, *notebooks])


def _pages_of(part: object) -> list[str]:
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part
    return [page for each in parts for page in _pages_of(each)]  # type: ignore[attr-defined]


def test_the_examples_of_a_task_and_of_a_block_are_those_that_the_tests_train() -> None:
    task = [
        f"linetask/{name}"
        for name in ("__init__.py", "settings.py", "task.py", "conf/task/line.yaml")
    ]
    page = PAGES["extending/task.md"] + PAGES["extending/network.md"]
    for name in (*task, "separable.py"):
        marked = rf"<!-- file: {re.escape(name)} .*? -->\n```\w+\n(.*?)```"
        found = re.search(marked, page, re.DOTALL)
        assert found is not None, name
        assert found[1] == (ROOT / "tests" / "outside" / name).read_text(encoding="utf-8")


def test_the_messages_that_the_pages_on_problems_quote_are_those_of_the_code() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "hexlit").rglob("*.py"))
    code = re.sub(r"\"\s*\n\s*f?\"", "", code)
    quoted = [
        message
        for name, page in PAGES.items()
        if name.startswith("problems/")
        for message in [
            *re.findall(r"^\| `([^`=]+)` \|", page, re.MULTILINE),
            *re.findall(r"```text\n(.*)\n```", page),
        ]
    ]
    assert len(quoted) > 10
    for message in quoted:
        for part in re.split(r"\.\.\.|\d+|\bN\b", message):
            assert part.strip(" %") in code, f"{message}: {part}"
