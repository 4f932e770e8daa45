-- Which call sites hold more memory at the peak in a newer release than in an older one?
-- $service, $old, $new: the service and two of its releases. Numbers are means over the recordings of a release.
-- Chart: place: growth_bytes
with runs as (
    select recording, release
    from recordings
    where service_name = $service and release in ($old, $new)
),
counts as (
    select
        sum(case when release = $old then 1 else 0 end) as n_old,
        sum(case when release = $new then 1 else 0 end) as n_new
    from runs
),
sums as (
    select
        sites.stack_id,
        min(sites.place) as place,
        sum(case when runs.release = $old then sites.peak_bytes else 0 end) as old_bytes,
        sum(case when runs.release = $new then sites.peak_bytes else 0 end) as new_bytes
    from sites
    join runs on sites.recording = runs.recording
    where sites.stack_id is not null
    group by sites.stack_id
),
means as (
    select
        stack_id,
        place,
        1.0 * old_bytes / nullif(n_old, 0) as old_peak_bytes,
        1.0 * new_bytes / nullif(n_new, 0) as new_peak_bytes
    from sums
    cross join counts
)
select place, stack_id, old_peak_bytes, new_peak_bytes, new_peak_bytes - old_peak_bytes as growth_bytes
from means
where new_peak_bytes > old_peak_bytes
order by growth_bytes desc, stack_id
limit 20
