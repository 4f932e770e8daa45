-- Which functions request most memory, over all services and recordings of a time?
-- $from, $to: days, such as '2026-11-20'; the second one is not part of it.
-- Chart: service, place: allocated_bytes
select
    recordings.service_name as service,
    sites.place,
    sum(sites.allocated_bytes) as allocated_bytes,
    sum(sites.allocations + sites.reallocations) as requests,
    sqrt(sum(sites.allocated_bytes_variance)) as allocated_bytes_error,
    count(distinct sites.recording) as recordings
from sites
join recordings on sites.recording = recordings.recording
where recordings.started >= cast($from as timestamp) and recordings.started < cast($to as timestamp)
group by recordings.service_name, sites.place
order by allocated_bytes desc, recordings.service_name, sites.place
limit 20
