-- Which services run with something outside of their code that slows the heap, on how many hosts?
-- Chart: service, check_name: recordings
select
    recordings.service_name as service,
    environment.check_name,
    min(environment.severity) as severity,
    min(environment.title) as title,
    count(distinct recordings.recording) as recordings,
    count(distinct recordings.host) as hosts,
    min(environment.remedy) as remedy
from environment
join recordings on environment.recording = recordings.recording
group by recordings.service_name, environment.check_name
order by recordings desc, recordings.service_name, environment.check_name
