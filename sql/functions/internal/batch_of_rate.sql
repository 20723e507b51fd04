-- Returns how many tasks an operation takes at once, at most _page, and how long it then waits: no period of the rate,
-- wherever it begins, has more tasks than the rate allows, and a batch is about a second's worth. A null rate allows
-- all.
create or replace function taskq.batch_of_rate(_rate text, _page integer, out tasks integer, out gap interval)
language plpgsql immutable parallel safe
as $$
declare
  starts constant bigint := (taskq.rate_of(_rate))[1];
  us constant bigint := (taskq.rate_of(_rate))[2];
begin
  if starts is null then
    tasks := _page;
    gap := '0';
    return;
  end if;
  tasks := greatest(least(starts * 1000000 / us, starts, _page), 1);
  -- The gaps fill a period, so that it has no more batches than the rate allows, wherever it begins.
  gap := ceil(us::numeric / (starts / tasks)) * interval '1 microsecond';
end
$$;
