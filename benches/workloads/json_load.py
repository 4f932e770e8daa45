#!/usr/bin/env python3
"""Builds a JSON text of about 30 MB in memory, parses it, walks it and writes it again, twice.

Argument: records (100000). The same text comes out in every run. Python takes blocks of up to
512 bytes from its own arenas; run it with PYTHONMALLOC=malloc to see every object.
"""

import json
import sys


def record(i):
    return {
        "id": i,
        "name": "name-%07d" % (i * 7919 % 10000019),
        "tags": ["tag%d" % (i * k % 97) for k in range(1, 6)],
        "position": {"x": i * 0.25, "y": -i / 8, "label": "point %d" % i},
        "history": [{"at": i * 1000 + k, "ok": k % 2 == 0, "note": None if k else "first"} for k in range(3)],
    }


def walk(records):
    total = 0
    for r in records:
        total += r["id"] + len(r["name"]) + sum(map(len, r["tags"])) + int(r["position"]["x"])
        for event in r["history"]:
            total += event["at"] + event["ok"] + len(event["note"] or "")
    return total


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
    text = json.dumps([record(i) for i in range(count)])
    total = 0
    for _ in range(2):
        tree = json.loads(text)
        total += walk(tree)
        again = json.dumps(tree)
        total += len(again)
    print("text", len(text), "checksum", total)


main()
