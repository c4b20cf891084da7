"""The shape of the code, checked on its syntax trees:
who may import whom, and what is written nowhere.
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "hexlit"

# Direct arrows. A room may import what its arrows lead to, by any number of steps.
ARROWS: dict[str, set[str]] = {
    "api": {
        "commands"
    },  # what `import hexlit` gives: it stands above the commands, beside the command line
    "cli": {"commands"},
    "__main__": {"cli"},
    "commands": {
        *(
            "bench",
            "planning",
            "tuning",
            "reporting",
            "web",
            "arena",
            "tasks",
            "selfplay",
            "search",
            "nets",
        ),
        *("training", "tracking", "accelerate", "hex"),
    },
    "testing": {"search", "nets", "hex"},  # for tests, of other packages too; nothing imports it
    "web": {
        "arena",
        "search",
        "nets",
        "hex",
    },  # networks come from the commands, as evaluators or to be written
    "bench": {"tasks", "selfplay", "search", "nets", "training", "accelerate", "hex"},
    "planning": set(),  # what was measured comes as a file
    "tuning": {"cluster", "accelerate", "reporting"},
    "reporting": {"hex"},
    "arena": {"selfplay", "search", "nets", "hex"},
    "tasks": {"tuning", "reporting", "arena", "selfplay", "nets", "training", "accelerate"},
    "selfplay": {"cluster", "search", "nets", "accelerate", "hex"},
    "cluster": {"hex"},  # the digest of the kernels' sources, alike on all hosts
    "search": {"hex"},
    "nets": {"accelerate", "hex"},  # hex: the number and the meaning of the input planes
    "training": {"accelerate", "tracking"},
    "accelerate": set(),
    "tracking": set(),
    "hex": set(),
}
FOR_ALL = {"errors", "files", "interruption", "locks", "output", "settings", "__init__"}
"""These import nothing of ours but one another."""
WITHOUT_TORCH = ("hex", "search")
LEARNING = (
    "selfplay",
    "tasks",
    "training",
    "nets",
    "search",
)  # what games and examples come from and go through
TRUTH = {"hexlit.hex.solver", "hexlit.hex.openings", "hexlit.hex.truth", "hexlit.arena.positions"}
TORCH = {"torch", "lightning", "torchmetrics", "pytorch_lightning"}
PICKLES = {"pickle", "cPickle", "cloudpickle", "dill", "shelve", "marshal", "joblib"}
AVAILABILITY = {
    *("torch.cuda.is_available", "torch.cuda.device_count", "torch.backends.cuda.is_built"),
    *("torch.mps.is_available", "torch.mps.device_count", "torch.backends.mps.is_available"),
    *(
        "torch.backends.mps.is_built",
        "torch.accelerator.is_available",
        "torch.accelerator.current_accelerator",
    ),
}
FREE_OF_THE_GAME = ("training", "accelerate", "tuning", "tracking")
"""Rooms that serve every task: their names and texts have no word of a single one."""
WORDS_OF_A_TASK = {
    "selfplay",
    "game",
    "games",
    "board",
    "boards",
    "policy",
    "policies",
    "strength",
    "hex",
}
HOME_OF_THE_FORECASTER = ("hexlit.tasks.forecast", "hexlit.reporting.forecasts")
NAMES_TASKS = {
    "hexlit.commands.tasks",
    "hexlit.commands.table",
}  # the table of tasks, and what `hexlit --help` says
OF_OTHERS = {"token_hex", "TensorBoardLogger"}  # names that other libraries gave
OPTIONAL = (
    "tensorboard",
    "onnx",
    "text",
    "forecast",
    "notebooks",
    "dashboard",
    "ray",
    "web",
    "slurm",
    "postgres",
)
"""Extras whose packages the code imports where they are installed."""
IMPORT_NAMES = {
    "ipykernel": "IPython",  # which it brings
    "hydra-core": "hydra",
    "hydra-submitit-launcher": "submitit",  # which it brings
    "nvidia-ml-py": "pynvml",
    "scikit-learn": "sklearn",
    "pyyaml": "yaml",
    "wandb-workspaces": "wandb_workspaces",
}  # of the packages whose own name is another
MOST_LINES = 500
"""Most lines of a file."""
MOST_TOKENS = {"hexlit": 338_500, "tests": 342_500}
"""Most tokens of the package, and of its tests."""
MOST_TOKENS_A_LINE = 9.5
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
"""Kinds of tokens that are no part of the size."""
LOCAL_WORDS = {"Batch", "Block", "Line", "Part", "Rule"}
"""Public classes that are known by the name of their module alone."""
EMPTY_NAMES = {
    "util",
    "utils",
    "helper",
    "helpers",
    "common",
    "misc",
    "manager",
    "managers",
    "handler",
    "processor",
}


@cache
def modules() -> dict[str, ast.Module]:
    """Dotted name -> syntax tree, of every module of the package."""
    trees = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = list(path.relative_to(ROOT).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        trees[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return trees


def imports(name: str, tree: ast.AST) -> Iterator[str]:
    """Dotted names a module imports, anywhere in it:
    `from a import b` gives `a.b`, and `a` where b is no module.
    """
    is_package = (PACKAGE.parent / Path(*name.split("."))).is_dir()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = name.split(".")
                kept = parents[: len(parents) - node.level + is_package]
                base = ".".join([*kept, base] if base else kept)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield full if full in modules() else base


def all_imports() -> Iterator[tuple[str, str]]:
    """Each module, with each that it imports.

    `import hexlit` gives names of the room `api` when they are asked for; what it imports is for
    type checkers.
    """
    for name, tree in modules().items():
        if name != "hexlit":
            yield from ((name, target) for target in imports(name, tree))


def words_of(text: str) -> set[str]:
    """The words of a name or a text, in lower case:
    `LEADERBOARD_FILE` has two, `isHexBoard` three.
    """
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", text)}


def names_and_texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of all identifiers and strings of a module,
    docstrings and what is imported left out.
    """
    documented: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else []:
            if isinstance(one, ast.Expr) and isinstance(
                one.value, ast.Constant
            ):  # a field's docstring, too
                documented.add(id(one.value))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in documented
        ):
            yield node.lineno, node.value
        for field in ("id", "attr", "name", "arg", "asname"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name not in OF_OTHERS and not isinstance(node, ast.alias):
                yield getattr(node, "lineno", 0), name


def room_of(name: str) -> str:
    return name.split(".")[1] if "." in name else "__init__"


def reachable(room: str) -> set[str]:
    found: set[str] = set()
    waiting = [room]
    while waiting:
        for below in ARROWS[waiting.pop()] - found:
            found.add(below)
            waiting.append(below)
    return found


def reached_from(names: list[str]) -> set[str]:
    """The modules `names` and all that they import, by any number of steps."""
    found, waiting = set(names), list(names)
    while waiting:
        name = waiting.pop()
        targets = set(imports(name, modules()[name])) & set(modules())
        fresh = targets - found - {"hexlit"}
        found |= fresh
        waiting.extend(fresh)
    return found


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def test_every_room_has_its_place_in_the_import_rule() -> None:
    assert {room_of(name) for name in modules()} <= set(ARROWS) | FOR_ALL


def test_what_all_may_import_stands_at_the_bottom() -> None:
    wrong = [
        f"{name} imports {target}"
        for name, target in all_imports()
        if room_of(name) in FOR_ALL
        and target.split(".")[0] == "hexlit"
        and room_of(target) not in FOR_ALL
    ]
    assert wrong == []


def test_the_arrows_have_no_circle() -> None:
    assert [room for room in ARROWS if room in reachable(room)] == []


def test_no_circle_of_imports() -> None:
    """Imports inside functions, and those for type checkers, count."""
    graph: dict[str, set[str]] = {}
    for name, target in all_imports():
        if target in modules() and target not in (name, "hexlit"):
            graph.setdefault(name, set()).add(target)
    TopologicalSorter(graph).prepare()  # names the circle


@pytest.mark.parametrize("room", FREE_OF_THE_GAME)
def test_the_rooms_of_every_task_have_no_word_of_one(room: str) -> None:
    wrong = [
        f"{name}:{line} says {text!r}"
        for name, tree in modules().items()
        if room_of(name) == room
        for line, text in names_and_texts(tree)
        if words_of(text) & WORDS_OF_A_TASK
    ]
    wrong += [
        f"{path.name} says {word}"
        for path in sorted((PACKAGE / room).rglob("*.json"))
        for word in sorted(words_of(path.read_text(encoding="utf-8")) & WORDS_OF_A_TASK)
    ]
    assert wrong == []


def test_a_task_beside_hex_is_known_to_the_table_of_tasks_alone() -> None:
    """The forecaster came with its own folder and figures, YAML files, and one entry in a table."""
    others = {
        name: tree
        for name, tree in modules().items()
        if not name.startswith(HOME_OF_THE_FORECASTER)
    }
    wrong = [
        f"{name}:{line} says {text!r}"
        for name, tree in others.items()
        if name not in NAMES_TASKS
        for line, text in names_and_texts(tree)
        if any(word.startswith("forecast") for word in words_of(text))
    ]
    wrong += [
        f"{name} imports {target}"
        for name, tree in others.items()
        for target in imports(name, tree)
        if target.startswith(HOME_OF_THE_FORECASTER)
    ]
    assert wrong == []
    assert NAMES_TASKS <= set(others) < set(modules())  # under these names


def test_imports_run_downwards_only() -> None:
    wrong = [
        f"{name} imports {target}"
        for name, target in all_imports()
        if target.split(".")[0] == "hexlit"
        and room_of(target) not in FOR_ALL
        and room_of(target) != room_of(name)
        and room_of(target) not in (reachable(room_of(name)) if room_of(name) in ARROWS else set())
    ]
    assert wrong == []


@pytest.mark.parametrize("room", WITHOUT_TORCH)
def test_the_game_and_the_search_never_import_torch(room: str) -> None:
    reached = reached_from([name for name in modules() if room_of(name) == room])
    assert [
        pair for pair in all_imports() if pair[0] in reached and pair[1].split(".")[0] in TORCH
    ] == []


@pytest.mark.parametrize("room", LEARNING)
def test_no_truth_enters_what_learns(room: str) -> None:
    """Solved positions and openings measure;
    no module of these rooms reaches them, by any number of imports.
    """
    reached = reached_from([name for name in modules() if room_of(name) == room])
    assert reached & TRUTH == set()
    assert set(modules()) >= TRUTH  # under these names


def test_nothing_is_pickled() -> None:
    assert [
        f"{name} imports {target}"
        for name, target in all_imports()
        if target.split(".")[0] in PICKLES
    ] == []


def test_no_eval_no_shell_and_no_unsafe_load() -> None:
    wrong = []
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = dotted(node.func)
            keywords = {
                word.arg: word.value.value
                for word in node.keywords
                if isinstance(word.value, ast.Constant)
            }
            if called in ("eval", "exec", "os.system", "os.popen"):
                wrong.append(f"{name}:{node.lineno} calls {called}")
            if keywords.get("shell") is True:
                wrong.append(f"{name}:{node.lineno} has shell=True")
            if keywords.get("weights_only") is False:
                wrong.append(f"{name}:{node.lineno} has weights_only=False")
            if called == "torch.load" and keywords.get("weights_only") is not True:
                wrong.append(f"{name}:{node.lineno} loads without weights_only=True")
    assert wrong == []


def test_only_accelerate_asks_what_the_hardware_is() -> None:
    """One place in the tree asks for CUDA and MPS."""
    wrong = [
        f"{name}:{node.lineno} asks {dotted(node)}"
        for name, tree in modules().items()
        if room_of(name) != "accelerate"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and dotted(node) in AVAILABILITY
    ]
    assert wrong == []


def test_no_module_asks_which_rule_a_search_has() -> None:
    """None reads `.gumbel` or `.puct` of settings, or compares a name with theirs."""
    asking = set()
    for name, tree in modules().items():
        for node in ast.walk(tree):
            reads = isinstance(node, ast.Attribute) and node.attr in ("gumbel", "puct")
            asks = isinstance(node, ast.Compare) and any(
                isinstance(part, ast.Constant) and part.value in ("gumbel", "puct")
                for part in ast.walk(node)
            )
            if reads or asks:
                asking.add(name)
    assert asking == set()


def test_one_module_converts_between_the_board_and_the_movers_frame() -> None:
    """No other exchanges rows and columns of actions; `geometry` makes the table."""
    using = {
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "transposed"
    }
    assert using == {"hexlit.hex.frame"}


def test_networks_are_put_together_in_one_function() -> None:
    """All others call `build_net`."""
    makers = {
        f"{name}.{part.name}"
        for name, tree in modules().items()
        for part in tree.body
        if isinstance(part, ast.FunctionDef | ast.ClassDef)
        for node in ast.walk(part)
        if isinstance(node, ast.Call)
        and dotted(node.func).split(".")[-1] in ("HexNet", "ResidualBlock")
    }
    assert makers == {"hexlit.nets.tower.build_net"}


def docstring_lines(tree: ast.Module) -> set[int]:
    """The lines of all strings that are statements."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def size_of(path: Path) -> tuple[int, int]:
    """Tokens of a file without comments and docstrings, and the lines on which they stand."""
    text = path.read_text(encoding="utf-8")
    documented = docstring_lines(ast.parse(text))
    count, lines = 0, set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT and token.start[0] not in documented:
            count += 1
            lines.update(range(token.start[0], token.end[0] + 1))
    return count, len(lines)


@pytest.mark.parametrize(("folder", "most"), MOST_TOKENS.items())
def test_the_code_stays_small_and_lines_hold_one_thought(folder: str, most: int) -> None:
    sizes = [size_of(path) for path in (ROOT / folder).rglob("*.py")]
    tokens, lines = (sum(column) for column in zip(*sizes, strict=True))
    assert tokens <= most
    assert tokens / lines <= MOST_TOKENS_A_LINE


def test_no_file_is_too_long() -> None:
    lines = {
        str(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert [path for path, count in lines.items() if count > MOST_LINES] == []


def test_a_public_class_has_its_name_alone() -> None:
    rooms: dict[str, set[str]] = {}
    for name, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                rooms.setdefault(node.name, set()).add(name)
    assert {name for name, homes in rooms.items() if len(homes) > 1} <= LOCAL_WORDS


def test_modules_are_named_after_what_they_are() -> None:
    assert [name for name in modules() if set(name.split(".")[-1].split("_")) & EMPTY_NAMES] == []


def test_the_package_list_names_every_folder() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = {
        ".".join(path.parent.relative_to(ROOT).parts) for path in PACKAGE.rglob("__init__.py")
    }
    assert set(project["tool"]["setuptools"]["packages"]) == folders | {"hexlit.conf"}


def test_everything_imported_is_a_dependency() -> None:
    """The tests run with the development tools installed,
    so a user's missing package would go unseen.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {
        re.split(r"[<>=\[ ]", line)[0]
        for line in sum(
            (project["optional-dependencies"][extra] for extra in OPTIONAL), project["dependencies"]
        )
    }
    known = (
        {IMPORT_NAMES.get(name, name) for name in named} | set(sys.stdlib_module_names) | {"hexlit"}
    )
    used = {target.split(".")[0] for _, target in all_imports()}
    assert used - known == set()


@pytest.mark.parametrize(
    ("package", "only"), [("onnx", "nets.onnx_export"), ("ray", "cluster.connection")]
)
def test_an_optional_runtime_is_imported_by_one_module_which_is_imported_late(
    package: str, only: str
) -> None:
    using = [
        name
        for name, tree in modules().items()
        if package in {one.split(".")[0] for one in imports(name, tree)}
    ]
    assert using == [f"hexlit.{only}"]
    body = modules()[using[0]].body
    at_its_top = any(
        package in imports(using[0], node)
        for node in body
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    early = [
        name
        for name, tree in modules().items()
        for node in tree.body
        if at_its_top and isinstance(node, ast.ImportFrom) and node.module == using[0]
    ]
    assert early == []


def test_every_yaml_starts_with_the_command_that_uses_it() -> None:
    wrong = []
    for path in (ROOT / "conf").rglob("*.yaml"):
        comments = [
            line
            for line in path.read_text(encoding="utf-8").splitlines()[:2]
            if line.startswith("# hexlit ")
        ]
        if not comments:
            wrong.append(str(path.relative_to(ROOT)))
    assert wrong == []
