"""The scripts of the page: each module is served, and all of them join into one script of the same effect."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hexlit.web.scripts import joined, module_names, module_text
from tests.web.pages import client

NODE = shutil.which("node") or ""
PAGE = Path(__file__).resolve().parents[2] / "hexlit" / "web" / "page"
needs_node = pytest.mark.skipif(not NODE, reason="node is not installed")


def of(**texts: str) -> str:
    return joined("main.mjs", lambda name: texts[name.removesuffix(".mjs")])


@pytest.mark.row("F17")
def test_every_module_is_served_announced_and_part_of_the_one_script() -> None:
    server, script = client(), joined()
    page = server.get("/").text
    names = module_names()
    assert len(names) > 20
    assert re.findall(r'<link rel="modulepreload" href="([^"]+)">', page) == names
    for name in names:
        text = server.get(f"/{name}").text
        assert text == module_text(name)
        assert text.count("\n") <= 350, f"{name}: one idea a module"
        assert script.count(text.splitlines()[0]) == 1, f"{name}: begins with a comment of its own"


def test_a_module_comes_once_and_after_those_that_it_imports() -> None:
    script = of(
        main='import { one } from "./first.mjs";\nimport { two } from "./second.mjs";\n\nshow(one, two);\n',
        second='import {\n  one,\n} from "./first.mjs";\nexport const two = one + one;\n',
        first="export const one = 1;\n",
    )
    assert script.split() == ["const", "one", "=", "1;", "const", "two", "=", "one", "+", "one;", "show(one,", "two);"]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"main": 'import { a } from "./a.mjs";\n', "a": 'import { b } from "./main.mjs";\n'}, "in a circle"),
        (
            {"main": 'import { a } from "./a.mjs";\nconst x = a;\n', "a": "export const a = 1, y = 2;\nlet x;\n"},
            "x is declared",
        ),
        ({"main": 'import * as a from "./a.mjs";\n'}, "cannot stand"),
        ({"main": "export default 1;\n"}, "cannot stand"),
        ({"main": 'const a = "</script>";\n'}, "cannot stand"),
    ],
)
def test_what_would_not_join_is_refused(texts: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        of(**texts)


@needs_node
@pytest.mark.row("F18")
def test_the_one_script_does_what_the_modules_do() -> None:
    """The geometry, joined with what it imports, beside the module itself; and the whole script is well formed."""
    subprocess.run([NODE, "--input-type=module", "--check"], input=joined(), text=True, timeout=60, check=True)
    show = "process.stdout.write(JSON.stringify(geometry(4, 'diamond')));"
    page = json.dumps((PAGE / "geometry.mjs").as_uri())
    found = [
        subprocess.run(
            [NODE, "--input-type=module", "-e", program], capture_output=True, text=True, timeout=60, check=True
        ).stdout
        for program in (f"{joined('geometry.mjs')}\n{show}", f"import {{ geometry }} from {page};\n{show}")
    ]
    assert found[0] == found[1] != ""
