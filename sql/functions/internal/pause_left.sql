-- Returns until when claims do not look at the many held tasks of a limit again: a claim has looked at each of them
-- lately. Null: they do now. A pause lasts a second at most: a later time is from before the clock was set back.
create or replace function taskq.pause_left(_limit taskq.standing_limit, _ts timestamptz)
returns timestamptz
language sql stable parallel safe
as $$
  select case when _limit.look_at > _ts and _limit.look_at <= _ts + interval '1 second' then _limit.look_at end
$$;
