"""Asks each question of crates/fleet/tables/questions of a fleet whose answers are known.

Arguments: a folder with the tables of one recording, and the folder of the questions. The fleet consists of copies of that recording: four
hosts, two releases and two recordings of each. The newer release has 1 MB more at one call site, one host has ten times the resident memory and
never frees a quarter of a gigabyte more.
"""

import pathlib
import sys

import duckdb

folder, questions = sys.argv[1:]
MB = 1_000_000
connection = duckdb.connect()


def ask(question, **values):
    result = connection.execute(question, values)
    names = [column[0] for column in result.description]
    return [dict(zip(names, row)) for row in result.fetchall()]


def one(name):
    return f"read_parquet('{folder}/{name}/**/*.parquet', hive_partitioning = false)"


# The hosts' names, releases and times of the copies.
connection.execute(
    """
    create table copies as
    select
        host || release || turn as copy,
        host,
        release,
        case when host = 'odd' then 10 else 1 end as factor,
        timestamp '2026-11-20 12:00:00' + to_days(cast(release as integer)) as day
    from (values ('a'), ('b'), ('c'), ('odd')) hosts (host)
    cross join (values ('1'), ('2')) releases (release)
    cross join (values ('x'), ('y')) turns (turn)
    """
).fetchall()
largest = ask(f"select stack_id, place from {one('sites')} where stack_id is not null order by peak_bytes desc, stack_id limit 1")[0]
tables = {
    "recordings": f"""
        select r.* exclude (recording, host, release, started, peak_rss_bytes, never_freed_bytes),
            r.recording || copy as recording, c.host, c.release, c.day as started, peak_rss_bytes * factor as peak_rss_bytes,
            never_freed_bytes + case when c.host = 'odd' then {250 * MB} else 0 end as never_freed_bytes
        from {one("recordings")} r cross join copies c""",
    "sites": f"""
        select s.* exclude (recording, peak_bytes, live_at_exit_bytes), s.recording || copy as recording,
            peak_bytes + case when release = '2' and stack_id = '{largest["stack_id"]}' then {MB} else 0 end as peak_bytes,
            live_at_exit_bytes
                + case when c.host = 'odd' and stack_id = '{largest["stack_id"]}' then {250 * MB} else 0 end as live_at_exit_bytes
        from {one("sites")} s cross join copies c""",
    "memory": f"select m.* exclude (recording), recording || copy as recording from {one('memory')} m cross join copies",
    "environment": """
        select recording, 'malloc-check' as check_name, 'high' as severity, 'checks' as title, [] as evidence, '' as cost, 'unset it' as remedy
        from recordings where host = 'odd'""",
    "predictions": f"""
        select recording, replayed.allocator, is_recorded, mb * {MB} as peak_rss_bytes, mb * 10 as heap_cpu_ns
        from recordings join (values
            ('x', 'glibc', true, 100), ('x', 'jemalloc', false, 60), ('x', 'snmalloc', false, null),
            ('y', 'glibc', true, 100), ('y', 'jemalloc', false, 70), ('y', 'snmalloc', false, null)
        ) replayed (turn, allocator, is_recorded, mb) on ends_with(recording, 'a2' || turn)""",
}
for name, rows in tables.items():
    connection.execute(f"create table {name} as {rows}").fetchall()

values = {
    "service": ask("select service_name from recordings limit 1")[0]["service_name"],
    "old": "1",
    "new": "2",
    "from": "2026-11-22",
    "to": "2026-11-23",
}
answers = {}
for path in sorted(pathlib.Path(questions).glob("*.sql")):
    text = path.read_text()
    assert text.startswith("-- "), f"{path} does not begin with its question"
    answers[path.stem] = ask(text, **{name: value for name, value in values.items() if f"${name}" in text})


def near(number, expected):
    assert abs(number - expected) <= 1e-6 * max(1, abs(expected)), (number, expected)


(growth,) = answers.pop("growth")
assert growth["place"] == largest["place"], growth
near(growth["growth_bytes"], MB)

leaks = answers.pop("leaks_by_host")
assert [row["host"] for row in leaks] == ["odd", "a", "b", "c"] and all(row["recordings"] == 4 for row in leaks), leaks
near(leaks[0]["never_freed_bytes"] - leaks[1]["never_freed_bytes"], 250 * MB)
assert leaks[0]["largest_place"] == largest["place"], leaks

(outlier_old, outlier_new) = sorted(answers.pop("outliers"), key=lambda row: row["release"])
for row, release in [(outlier_old, "1"), (outlier_new, "2")]:
    assert (row["host"], row["release"], row["recordings"]) == ("odd", release, 2), row
    near(row["peak_rss_bytes"], 10 * row["median_peak_rss_bytes"])

(debugged,) = answers.pop("debug_environments")
assert (debugged["check_name"], debugged["recordings"], debugged["hosts"]) == ("malloc-check", 4, 1), debugged

(regression,) = answers.pop("regressions")
assert (regression["before"], regression["release"], regression["recordings"]) == ("1", "2", 8), regression
near(regression["requests_change"], 0)

top = answers.pop("top_sites")
assert 0 < len(top) <= 20 and all(row["recordings"] == 8 for row in top), top
(expected,) = ask(f"select place, 8 * sum(allocated_bytes) as bytes from {one('sites')} group by place order by bytes desc, place limit 1")
assert (top[0]["place"], top[0]["allocated_bytes"]) == (expected["place"], expected["bytes"]), top[0]

(overhead,) = answers.pop("overhead_of_allocators")
parts = ["internal_fragmentation", "external_fragmentation", "free_pages", "metadata"]
near(overhead["allocators_own"], sum(overhead[part] for part in parts))
assert overhead["recordings"] == 16 and overhead["rss"] > overhead["allocators_own"] > 0, overhead

(switch, failed) = answers.pop("allocator_switch")
assert (switch["recorded"], switch["allocator"], switch["replayed"], switch["failed"]) == ("glibc", "jemalloc", 2, 0), switch
assert (switch["recordings"], switch["hosts"]) == (16, 4), switch
near(switch["saves_bytes"], 35 * MB)
near(switch["saves_least_bytes"], 30 * MB)
near(switch["saves_on_all_hosts_bytes"], 4 * 35 * MB)
near(switch["saves_cpu_ns"], 350)
assert (failed["allocator"], failed["replayed"], failed["failed"], failed["saves_bytes"]) == ("snmalloc", 0, 2, None), failed

assert not answers, f"not tested: {list(answers)}"

# Of a recording in several files the last one has what the others have left: the second turn follows the first one.
connection.execute(
    """
    update recordings set
        part = case when ends_with(recording, 'x') then 1 else 2 end,
        goes_on = ends_with(recording, 'x'),
        started = started + case when ends_with(recording, 'x') then interval 0 hour else interval 1 hour end
    """
).fetchall()
followed = ask(pathlib.Path(questions, "leaks_by_host.sql").read_text(), service=values["service"])
assert [row["recordings"] for row in followed] == [2, 2, 2, 2], followed
near(followed[0]["never_freed_bytes"], leaks[0]["never_freed_bytes"])
