"""`hexlit games`: recorded games imported, exported, drawn, counted and replayed."""

from omegaconf import DictConfig

from hexlit.commands.application import register_schema, run, typed
from hexlit.commands.games_settings import ACTIONS, EXAMPLE, GamesConfig, no_action
from hexlit.errors import UsageError

ALL_WELL, SOMETHING_WRONG = 0, 1

register_schema("games", GamesConfig)


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code, 1 if `verify` finds an error."""
    ends: list[int] = []

    def task(config: DictConfig) -> None:
        ends.append(games(config))

    return run(task, "games", argv, prepare=named_action) or sum(ends)


def named_action(argv: list[str]) -> list[str]:
    """`argv` with its first word, `import` in `hexlit games import ...`, as a setting.

    Raises:
        UsageError: there is more than one bare word, or the word is no action.
    """
    words = [word for word in argv if "=" not in word and not word.startswith(("-", "~"))]
    if not words:
        return argv
    if words[0] != argv[0]:
        raise UsageError(f"{words[0]!r}: settings are KEY=VALUE, and an action is the first word: {EXAMPLE}")
    if words[0] not in ACTIONS:
        raise UsageError(no_action(words[0]))
    return [f"action={argv[0]}", *argv[1:]]


def games(config: DictConfig) -> int:
    """Run the action; returns the exit code."""
    settings = typed(config, GamesConfig)
    from hexlit.commands import games_actions as actions

    if settings.action == "import":
        actions.import_games_to_store(settings)
    elif settings.action == "export":
        actions.export(settings)
    elif settings.action == "show":
        actions.show(settings)
    elif settings.action == "stats":
        actions.stats(settings)
    elif not actions.verify(settings):
        return SOMETHING_WRONG
    return ALL_WELL
