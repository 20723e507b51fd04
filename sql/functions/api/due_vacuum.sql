-- Returns the statement that vacuums the live table, for the caller to send itself: no function can run VACUUM. Null:
-- the table has fewer dead rows than _dead_rows, was vacuumed within _after_ms, or is too large. Empty: it is due, but
-- the caller lacks the privilege.
--
-- Autovacuum looks every minute, or every ten seconds if configured to: at 2,000 tasks a second, the table and its
-- indexes have by then grown to fifteen times the size of their live rows; with a vacuum every second, to three times.
-- A large table is left to autovacuum: among 100,000 live rows a few dead ones do not matter, and a vacuum reads every
-- index. Called right after a vacuum, it shows whether that one was in vain, as it is while an old snapshot is open.
-- Granted to: worker.
create or replace function taskq.due_vacuum(_dead_rows bigint, _after_ms bigint)
returns text
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  -- skip_locked: do nothing while another vacuum runs.
  return (
    -- Since PostgreSQL 17 this is a separate privilege, which the owner has.
    select case
      when case when current_setting('server_version_num')::integer >= 170000
        then has_table_privilege(session_user, c.oid, 'maintain')
        else pg_has_role(session_user, c.relowner, 'usage')
      end then 'vacuum (skip_locked) taskq.tasks'
      else ''
    end
    from pg_stat_all_tables s
    join pg_class c on c.oid = s.relid
    where s.relid = 'taskq.tasks'::regclass and s.n_dead_tup >= _dead_rows and s.n_live_tup < 100000
      and coalesce(
        greatest(s.last_vacuum, s.last_autovacuum) <= clock_timestamp() - interval '1 millisecond' * _after_ms, true
      )
  );
end
$$;
