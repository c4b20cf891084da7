"""Small programs that speak HTP, most of them badly."""

import shlex
import sys

PREAMBLE = """
import os, signal, sys, time
played, size = set(), 0
def say(text):
    print("= " + text + "\\n", flush=True)
def next_cell():
    return next(c + str(r) for r in range(1, size + 1) for c in "abcdefghi"[:size] if c + str(r) not in played)
def name(words): say("fake")
def version(words): say("1")
def boardsize(words):
    global size
    size = int(words[1])
    played.clear()
    say("")
def clear_board(words):
    played.clear()
    say("")
def play(words):
    played.add(words[2])
    say("")
def genmove(words):
    cell = next_cell()
    played.add(cell)
    say(cell)
def quit(words):
    say("")
    sys.exit(0)
"""

LOOP = """
for line in sys.stdin:
    words = line.split()
    known = words and globals().get(words[0])
    if callable(known): known(words)
    else: print("? unknown command\\n", flush=True)
"""


def engine(changes: str = "", *arguments: str) -> str:
    """Command line of a program that plays the first empty cell,
    with `changes` to how it does that.
    """
    return shlex.join([sys.executable, "-c", PREAMBLE + changes + LOOP, *arguments])
