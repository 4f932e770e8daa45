-- How much resident memory of each service is not live data but the allocator's: what another allocator, or other settings, could save
-- at most? Numbers are means over recordings, at the peak of their resident memory.
-- Chart: service, allocator: live, internal_fragmentation, external_fragmentation, free_pages, metadata
select
    recordings.service_name as service,
    recordings.allocator,
    count(*) as recordings,
    avg(memory.rss) as rss,
    avg(memory.live) as live,
    avg(memory.internal_fragmentation) as internal_fragmentation,
    avg(memory.external_fragmentation) as external_fragmentation,
    avg(memory.free_pages) as free_pages,
    avg(memory.metadata) as metadata,
    avg(
        memory.internal_fragmentation + memory.external_fragmentation + memory.free_pages + memory.metadata
    ) as allocators_own
from memory
join recordings on memory.recording = recordings.recording
where memory.moment = 'peak' and memory.allocator is null
group by recordings.service_name, recordings.allocator
order by allocators_own desc, recordings.service_name, recordings.allocator
