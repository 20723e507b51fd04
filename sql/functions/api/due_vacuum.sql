-- The statement that vacuums the live table, for the caller to send by itself: no function can run VACUUM. Null: it has
-- fewer dead rows than that, somebody has vacuumed it within that time, or the caller may not. Autovacuum looks every minute, or every ten seconds where it is told to: at 2,000 tasks a second the table
-- and its indexes are by then fifteen times as large as what lives in them, with a vacuum a second three times.
-- A large table is left to autovacuum: where 100,000 live, a few dead ones among them are nothing, and a vacuum walks
-- every index. Asked right after a vacuum, it tells whether that was in vain, as it is while an old snapshot is open.
create or replace function taskq.due_vacuum(_dead_rows bigint, _after_ms bigint)
returns text
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  -- Where another vacuum is at it, this one does nothing.
  return (
    select 'vacuum (skip_locked) taskq.tasks' from pg_stat_all_tables s
    join pg_class c on c.oid = s.relid
    where s.relid = 'taskq.tasks'::regclass and s.n_dead_tup >= _dead_rows and s.n_live_tup < 100000
      and coalesce(
        greatest(s.last_vacuum, s.last_autovacuum) <= clock_timestamp() - interval '1 millisecond' * _after_ms, true
      )
      -- Since PostgreSQL 17 it is a privilege of its own, which the owner has.
      and case when current_setting('server_version_num')::integer >= 170000
        then has_table_privilege(session_user, c.oid, 'maintain')
        else pg_has_role(session_user, c.relowner, 'usage')
      end
  );
end
$$;
