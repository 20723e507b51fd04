-- Returns how far a claim advances the lease_no of its tasks, from 0 to 2147483645: at random, so that no lease comes
-- twice. A server that lost commits (in a failover, a restore, or a crash without synchronous_commit) gives the same
-- ids to other tasks; with a step of 1, a worker that outlived the loss would hold those under its leases of the
-- former.
--
-- The time is added because a session can set the seed of random() [1 us in all; a UUID takes 5].
create or replace function taskq.lease_step(_ts timestamptz)
returns bigint
language sql volatile
as $$
  select (taskq.epoch_us(_ts) + floor(random() * 2147483646)::bigint) % 2147483646
$$;
