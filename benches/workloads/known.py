"""Exactly as many blocks of 1000 bytes as the argument says, all from one function, below a chain of functions.

Argument: blocks (100000). Run it with PYTHONMALLOC=malloc: then each of them is one call of the C library.
"""

import itertools
import sys


def known_leaf(times):
    # Whatever else the function needs was made by others, and small numbers exist already.
    for _ in times:
        bytes(1000)
    return 0


def known_step_20(times):
    return known_leaf(times) + 1


# Nineteen functions, each of which calls the next one.
for step in range(1, 20):
    exec(f"def known_step_{step:02}(times):\n    return known_step_{step + 1:02}(times) + 1\n")


def known_main(times):
    return known_step_01(times) + 1


blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
print("checksum", known_main(itertools.repeat(None, blocks)), blocks)
