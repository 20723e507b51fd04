-- Moves a waiting task to the dead letters by hand, or changes the reason of a dead letter. It stays there until it is
-- revived or discarded by id or with by_hand, regardless of dead_retention. Returns `dead`; `held` (a worker holds it:
-- cancel it first); or `not_live` (it has finished or never existed). options: by, a name recorded in taskq.audit
-- beside the role.
-- Granted to: operator.
create or replace function taskq.add_dead(_id bigint, _reason text, options jsonb default '{}')
returns text
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '1s'
as $$
declare
  ts timestamptz;
  owner integer;
begin
  perform taskq.checked_options('add_dead', options, array['by']);
  -- Try twice: while we wait for the row, another transaction may move it to the other table.
  for look in 1 .. 2 loop
    update taskq.dead_tasks
    set reason = _reason, by_hand = true, fingerprint = taskq.fingerprint(type, _reason, error)
    where id = _id;
    if found then
      perform taskq.record_action('dead add', clock_timestamp(), options, array[_id], _reason => _reason);
      return 'dead';
    end if;
    select lease_owner into owner from taskq.tasks where id = _id for update;
    if found and owner is not null then
      return 'held';
    elsif found then
      ts := clock_timestamp();
      perform taskq.move_to_dead(array[_id], array[_reason], ts, true);
      -- It may stop its group: a slot that no worker has claimed is taken back.
      insert into taskq.asks (due_at, queue, key)
      select ts, d.queue, d.group_key from taskq.dead_tasks d where d.id = _id and d.group_key is not null;
      perform taskq.record_action('dead add', ts, options, array[_id], _reason => _reason);
      return 'dead';
    end if;
  end loop;
  return 'not_live';
end
$$;
