-- Returns the open breakers, except those that the next claim will close because of taskq.resume_type.
--
-- Inlined into the calling statement, which is why it names its schema and has no `set` clause.
create or replace function taskq.standing_breakers()
returns setof taskq.breakers
language sql stable
as $$
  select b.* from taskq.breakers b
  where b.opened_at is not null
    and not exists (select from taskq.breaker_events e where e.type = b.type and e.is_resume)
$$;
