-- A worker in psql, which works until no task is due:
--   psql "$DATABASE_URL" -f examples/worker.sql
-- Tasks of lost workers are rescued by any other worker that runs (taskq work, or worker.py).
\set ON_ERROR_STOP on
\set QUIET on
set client_min_messages = warning;
create schema if not exists shop;

-- What the worker does: a function for each type.
create or replace function shop.run(type text, payload jsonb)
returns jsonb
language plpgsql
as $$
begin
  return case type
    when 'greet' then to_jsonb('hello ' || (payload ->> 'name'))
    when 'divide' then to_jsonb((payload ->> 'by')::numeric / (payload ->> 'n')::numeric)
  end;
end
$$;

create or replace procedure shop.work(types text[])
language plpgsql
as $$
declare
  -- Longer than any task takes: a session that runs one cannot send a heartbeat.
  lease_ms constant bigint := 300000;
  worker integer;
  task record;
  outcome jsonb;
  answer text;
begin
  select w.worker_id into worker from taskq.register_worker(jsonb_build_object(
    'host', 'psql', 'pid', pg_backend_pid(), 'unique_part', gen_random_uuid(), 'concurrency', 1, 'lease_ms', lease_ms,
    'types', (select jsonb_object_agg(type, '{}'::jsonb) from unnest(types) as type)
  )) as w;
  -- Others see a claim, as every call, once it is committed.
  commit;
  while not coalesce((taskq.get_orders(worker) ->> 'stop')::boolean, true) loop
    perform taskq.heartbeat(worker, '{}', '{}', '{}', lease_ms);
    select c.id, c.lease_no, c.type, c.payload into task
    from taskq.claim(worker, '{default}', types, 1, 0, lease_ms) as c;
    commit;
    exit when task.id is null;
    begin
      outcome := jsonb_build_object('outcome', 'completed', 'result', shop.run(task.type, task.payload));
    exception
      when others then
        outcome := jsonb_build_object('outcome', 'failed', 'error', jsonb_build_object(
          'name', sqlstate, 'message', sqlerrm
        ));
    end;
    outcome := outcome || jsonb_build_object('id', task.id::text, 'lease_no', task.lease_no);
    loop
      select s.answer into answer
      from taskq.settle(worker, json_build_array(outcome), jsonb_build_object('wait_for', task.id)) as s;
      exit when answer <> 'busy';
    end loop;
    -- What the task wrote is committed with its outcome, and only by the worker that holds it.
    if answer = 'lost' then
      rollback;
    else
      commit;
    end if;
  end loop;
  perform taskq.unregister_worker(worker);
end
$$;

call shop.work('{greet, divide}');
