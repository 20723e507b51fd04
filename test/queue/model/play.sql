-- Plays the events of a model against the SQL functions, in the database and thus without round trips. The driver of
-- each model defines its beginnings (`model.start`), what an event does (`model.act`), and what is seen after it
-- (`model.look`).
create schema model;

-- Everything is kept forever, in one partition: a search by id need not look into a hundred of them. A retry
-- that waits for its back-off waits for a day, and a lease is an hour: no time passes but by an event.
update taskq.defaults
set retention = 'ever', errors_retention = 'ever', backoff = '{"kind": "fixed", "base_ms": 86400000}';
do $$
declare
  partition regclass;
begin
  for partition in
    select inhrelid::regclass from pg_inherits
    where inhparent in ('taskq.finished_tasks'::regclass, 'taskq.task_errors'::regclass)
      and pg_get_expr((select relpartbound from pg_class where oid = inhrelid), inhrelid) not like '%infinity%'
  loop
    execute format('drop table %s', partition);
  end loop;
end
$$;

-- A claim draws how far it advances a lease number. Here it counts, as the model does: what matters is that the number
-- is a new one.
create or replace function taskq.lease_step(_ts timestamptz) returns bigint language sql as $$ select 0::bigint $$;

-- Plays a tree of events, {call, next}, depth first, and takes each back before the next. Returns what was
-- answered and then seen after every event, in this order.
create function model.walk(_branches jsonb) returns setof text language plpgsql as $$
declare
  branch jsonb;
begin
  for branch in select * from jsonb_array_elements(_branches) loop
    begin
      return next concat_ws(' => ', coalesce(model.act(branch -> 'call'), ''), model.look());
      return query select * from model.walk(branch -> 'next');
      raise exception 'undo' using errcode = 'UNDO0';
    exception
      when sqlstate 'UNDO0' then null;
      when others then return next sqlerrm;
    end;
  end loop;
end
$$;

-- Plays sequences of events, [[event, …], …], each from the beginning. Returns what walk returns.
create function model.play(_sequences jsonb) returns setof text language plpgsql as $$
declare
  sequence jsonb;
  event jsonb;
begin
  for sequence in select * from jsonb_array_elements(_sequences) loop
    begin
      for event in select * from jsonb_array_elements(sequence) loop
        return next concat_ws(' => ', coalesce(model.act(event), ''), model.look());
      end loop;
      raise exception 'undo' using errcode = 'UNDO0';
    exception
      when sqlstate 'UNDO0' then null;
      when others then return next sqlerrm;
    end;
  end loop;
end
$$;
