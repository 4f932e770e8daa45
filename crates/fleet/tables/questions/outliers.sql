-- Which hosts are unlike the others with the same service and release? Compared is the peak of resident memory: the mean of a host with the
-- median of all hosts, in multiples of the median distance from that. Three hosts at least are needed, and a tenth of the median.
-- Chart: service, release, host: peak_rss_bytes
with hosts as (
    select service_name as service, release, host, count(*) as recordings, avg(peak_rss_bytes) as peak_rss_bytes
    from recordings
    where host is not null
    group by service_name, release, host
),
middles as (
    select service, release, count(*) as hosts, median(peak_rss_bytes) as middle
    from hosts
    group by service, release
),
distances as (
    select
        hosts.service,
        hosts.release,
        hosts.host,
        hosts.recordings,
        hosts.peak_rss_bytes,
        middles.middle,
        abs(hosts.peak_rss_bytes - middles.middle) as distance
    from hosts
    join middles on hosts.service = middles.service and hosts.release is not distinct from middles.release
    where middles.hosts >= 3
),
spreads as (
    select service, release, median(distance) as spread
    from distances
    group by service, release
)
select
    distances.service,
    distances.release,
    distances.host,
    distances.recordings,
    distances.peak_rss_bytes,
    distances.middle as median_peak_rss_bytes,
    distances.distance / nullif(spreads.spread, 0) as multiples_of_the_spread
from distances
join spreads on distances.service = spreads.service and distances.release is not distinct from spreads.release
where distances.distance > 3 * spreads.spread and distances.distance > 0.1 * distances.middle
order by distances.distance desc, distances.service, distances.release, distances.host
