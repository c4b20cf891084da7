"""Shows examples of docstrings (`>>>`) on the pages of the API as blocks of code."""

import re

from griffe import Extension, Object

EXAMPLE = re.compile(
    r"(?:^[ \t]*(?:>>>|\.\.\.).*\n?(?:^(?![ \t]*>>>)[ \t]*\S.*\n?)*)+", re.MULTILINE
)


class Doctests(Extension):
    """Puts a fence around each example."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Rewrite the docstring of `obj`, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value
            )
