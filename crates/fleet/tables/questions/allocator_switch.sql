-- What would another allocator save each service? Replays of a sample of its recordings say so (`heapwise fleet ingest --replay N`): resident
-- memory of the heap at its peak, and processor time for the heap. Numbers are means over them, negative where it would take more. What all
-- hosts save is as if one process of the service ran on each.
-- Chart: service, recorded, allocator: saves_bytes
with pairs as (
    select
        recordings.service_name as service,
        own.allocator as recorded,
        other.allocator as allocator,
        own.peak_rss_bytes,
        own.peak_rss_bytes - other.peak_rss_bytes as saves_bytes,
        own.heap_cpu_ns - other.heap_cpu_ns as saves_cpu_ns
    from predictions as own
    join predictions as other on own.recording = other.recording
    join recordings on own.recording = recordings.recording
    where own.is_recorded and not other.is_recorded and own.peak_rss_bytes is not null
),
services as (
    select service_name as service, count(*) as recordings, count(distinct host) as hosts
    from recordings
    group by service_name
)
select
    pairs.service,
    pairs.recorded,
    pairs.allocator,
    services.recordings,
    count(pairs.saves_bytes) as replayed,
    count(*) - count(pairs.saves_bytes) as failed,
    avg(pairs.peak_rss_bytes) as peak_bytes,
    avg(pairs.saves_bytes) as saves_bytes,
    min(pairs.saves_bytes) as saves_least_bytes,
    services.hosts,
    avg(pairs.saves_bytes) * services.hosts as saves_on_all_hosts_bytes,
    avg(pairs.saves_cpu_ns) as saves_cpu_ns
from pairs
join services on pairs.service = services.service
group by pairs.service, pairs.recorded, pairs.allocator, services.recordings, services.hosts
order by saves_on_all_hosts_bytes desc nulls last, pairs.service, pairs.recorded, pairs.allocator
