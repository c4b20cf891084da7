"""`hexlit htp`: a network that plays with other programs, by the Hex Text Protocol over standard
input and output.

The first questions, about name and commands, are answered before anything heavy is imported.
"""

from functools import partial

from hexlit.arena.htp.protocol import Incoming, private_output, write


def main(argv: list[str]) -> int:
    """Run the command with Hydra overrides; returns the exit code."""
    # --help and other flags start no conversation.
    if any(argument.startswith("-") for argument in argv):
        from hexlit.commands.htp_program import explain

        return explain(argv)
    # From here on only the protocol writes to standard output; output of libraries is diverted.
    with private_output() as out:
        answer = partial(write, out)
        incoming = Incoming(0, answer)
        from hexlit.commands.htp_program import converse

        return converse(argv, incoming, answer)
