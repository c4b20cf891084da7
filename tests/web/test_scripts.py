"""The scripts of the page: each module is served,
and all of them join into one script of the same effect.
"""

import json
import re
import shutil
import subprocess

import pytest

from hexlit.web.network_page import START, WORKER
from hexlit.web.pages import FIRST, PAGE, joined
from tests.web.pages import client

NODE = shutil.which("node") or ""
needs_node = pytest.mark.skipif(not NODE, reason="node is not installed")


def test_every_module_is_served_announced_and_part_of_the_one_script() -> None:
    server, script = client(), joined()
    page = server.get("/").text
    names = sorted(file.name for file in PAGE.glob("*.mjs"))
    assert len(names) > 20
    assert re.findall(r'<link rel="modulepreload" href="([^"]+)">', page) == names
    for name in names:
        text = server.get(f"/{name}").text
        assert text == (PAGE / name).read_text(encoding="utf-8")
        assert text.count("\n") <= 350, f"{name}: one idea a module"
        own = next(line for line in text.splitlines() if line.startswith(("export ", "const ")))
        assert script.count(own.removeprefix("export ")) == 1, f"{name}: it is there once"


@pytest.mark.parametrize("first", [FIRST, START, WORKER])
def test_the_modules_can_be_joined(first: str) -> None:
    """Every import and export has a form that the joined script leaves out,
    and no two modules share a name.
    """
    assert not re.search(r"^(?:import|export)\b.*|</script|<!--", joined(first), re.MULTILINE)
    declared = re.findall(
        r"^(?:async function|function\*?|class|const|let) (\w+)", joined(first), re.MULTILINE
    )
    assert len(set(declared)) == len(declared)


@needs_node
def test_the_one_script_does_what_the_modules_do() -> None:
    """The geometry, joined with what it imports,
    beside the module itself; and the whole script is well formed.
    """
    subprocess.run(
        [NODE, "--input-type=module", "--check"], input=joined(), text=True, timeout=60, check=True
    )
    show = "process.stdout.write(JSON.stringify(geometry(4, 'diamond')));"
    page = json.dumps((PAGE / "geometry.mjs").as_uri())
    found = [
        subprocess.run(
            [NODE, "--input-type=module", "-e", program],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for program in (
            f"{joined('geometry.mjs')}\n{show}",
            f"import {{ geometry }} from {page};\n{show}",
        )
    ]
    assert found[0] == found[1] != ""
