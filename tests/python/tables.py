"""Reads a folder of tables by two engines that have nothing in common, and prints what they find as JSON.

Arguments: the folder. The engines have to agree on everything; what they find is compared by the caller.
"""

import json
import sys

import duckdb
import pandas

folder = sys.argv[1]
TABLES = ["recordings", "sites", "stacks", "frames", "samples", "site_samples", "memory", "findings", "environment"]


def ask(question):
    """The rows of a question in SQL, which names tables in braces."""
    tables = {name: f"read_parquet('{folder}/{name}/**/*.parquet')" for name in TABLES}
    return duckdb.connect().execute(question.format(**tables)).fetchall()


def read(table):
    return pandas.read_parquet(f"{folder}/{table}")


# Both engines read every table.
for name in TABLES:
    assert ask("select count(*) from {" + name + "}") == [(len(read(name)),)], name


sums = [
    "allocations",
    "reallocations",
    "allocated_bytes",
    "temporary_allocations",
    "peak_bytes",
    "peak_blocks",
    "live_at_exit_bytes",
    "live_at_exit_blocks",
]
of_sites = ask("select service, " + ", ".join(f"sum({name})::bigint" for name in sums) + " from {sites} group by 1")
by_pandas = read("sites").groupby("service", observed=True)[sums].sum()
for service, *numbers in of_sites:
    assert list(by_pandas.loc[service]) == numbers, service

# Every frame of every stack of every site is there.
assert ask("select count(*) from {sites} s left join {stacks} t using (stack_id) where t.stack_id is null and s.stack_id is not null") == [(0,)]
assert ask("select count(*) from (select unnest(frame_ids) f from {stacks}) left join {frames} on f = frame_id where frame_id is null") == [(0,)]

# Each stack is taken once, and the sums stay.
joined = ask("select sum(allocated_bytes)::bigint from {sites} join (select distinct stack_id, frame_ids from {stacks}) using (stack_id)")
assert joined == ask("select sum(allocated_bytes)::bigint from {sites} where stack_id is not null"), joined

# An id is what its documentation says.
wrong = ask(
    """
    with hashed as (
        select frame_id id, sha256(module || chr(0) || function) hash, function
        from {frames}
    )
    select function from hashed where id != hash[1:32] and not contains(function, '+0x')
    """
)
assert not wrong, wrong

frames, stacks = read("frames"), read("stacks")
print(
    json.dumps(
        {
            "sums": {service: dict(zip(sums, numbers)) for service, *numbers in of_sites},
            "releases": ask("select service_name, release, host is not null, command[1] from {recordings} order by started"),
            "memory": ask("select service, moment, rss from {memory} where allocator is null order by 1, 2"),
            "functions": sorted(set(frames["function"])),
            "shared_stacks": int(stacks["stack_id"].duplicated().sum()),
            "highest": ask("select service, max(live_bytes) from {samples} group by 1 order by 1"),
            "followed": ask("select service, count(distinct stack_id), max(live_bytes) from {site_samples} group by 1 order by 1"),
        }
    )
)
