-- How do releases of each service differ from the one before? A release comes before another if its first recording does.
-- Numbers are means over the recordings of a release; changes are shares of the release before.
-- Chart: service, release: peak_rss_bytes
with releases as (
    select
        service_name as service,
        release,
        min(started) as first_recording,
        count(*) as recordings,
        avg(allocations + reallocations) as requests,
        avg(peak_live_bytes) as peak_live_bytes,
        avg(peak_rss_bytes) as peak_rss_bytes
    from recordings
    where release is not null
    group by service_name, release
),
pairs as (
    select
        *,
        lag(release) over (partition by service order by first_recording, release) as before,
        lag(requests) over (partition by service order by first_recording, release) as requests_before,
        lag(peak_live_bytes) over (partition by service order by first_recording, release) as live_before,
        lag(peak_rss_bytes) over (partition by service order by first_recording, release) as rss_before
    from releases
)
select
    service,
    before,
    release,
    recordings,
    peak_live_bytes,
    peak_rss_bytes,
    requests / nullif(requests_before, 0) - 1 as requests_change,
    peak_live_bytes / nullif(live_before, 0) - 1 as peak_live_change,
    peak_rss_bytes / nullif(rss_before, 0) - 1 as peak_rss_change
from pairs
where before is not null
order by peak_rss_change desc, service, release
