-- On which hosts is how much never freed, and which call site has most of it?
-- $service: the service. Numbers are means over the recordings of a host. Of a recording in several files the last one counts, which has what
-- the others have left.
-- Chart: host: never_freed_bytes
with files as (
    select
        recording,
        coalesce(host, '(unknown)') as host,
        never_freed_bytes,
        goes_on and part + 1 = lead(part) over (partition by host order by started) as is_followed
    from recordings
    where service_name = $service
),
runs as (
    select recording, host, never_freed_bytes
    from files
    where is_followed is not true
),
hosts as (
    select host, count(*) as recordings, avg(never_freed_bytes) as never_freed_bytes
    from runs
    group by host
),
places as (
    select runs.host, sites.place, sum(sites.live_at_exit_bytes) as bytes
    from sites
    join runs on sites.recording = runs.recording
    group by runs.host, sites.place
),
ranked as (
    select host, place, bytes, row_number() over (partition by host order by bytes desc, place) as rank
    from places
)
select
    hosts.host,
    hosts.recordings,
    hosts.never_freed_bytes,
    ranked.place as largest_place,
    1.0 * ranked.bytes / hosts.recordings as largest_place_bytes
from hosts
join ranked on hosts.host = ranked.host and ranked.rank = 1
order by hosts.never_freed_bytes desc, hosts.host
