-- Returns what a dashboard shows about the server besides the tasks, as {release, paused_queues, xmin_age_ms,
-- notification_queue_ratio, replica_lag_ms}. paused_queues has _most names at most, in order. xmin_age_ms is the age of
-- the oldest transaction that keeps vacuum from removing what later ones have deleted (null: there is none), prepared
-- ones too; the sessions of others count only if the owner of the schema may see them (pg_read_all_stats), and so does
-- replica_lag_ms: how far a standby, or of a primary the last of its standbys, is behind (null: it has none). Reads no
-- task.
-- Granted to: reader, operator.
create or replace function taskq.get_vitals(_most integer default 100)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  ts constant timestamptz := clock_timestamp();
begin
  return jsonb_build_object(
    'release', (select r.number from taskq.release r),
    'paused_queues', array(
      select q.name from taskq.queues q
      where q.paused_at is not null and (q.paused_until is null or q.paused_until > ts)
      order by q.name
      limit _most
    ),
    'xmin_age_ms', (
      select round(date_part('epoch', ts - min(x.since)) * 1000)
      from (
        select a.xact_start as since from pg_stat_activity a
        where a.backend_xmin is not null and a.pid <> pg_backend_pid()
        union all
        select p.prepared from pg_prepared_xacts p
      ) as x
    ),
    'notification_queue_ratio', pg_notification_queue_usage(),
    'replica_lag_ms', case
      when not pg_is_in_recovery() then (
        select round(max(date_part('epoch', coalesce(r.replay_lag, '0'))) * 1000)
        from pg_stat_replication r where r.state = 'streaming'
      )
      when pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() then 0
      else round(date_part('epoch', ts - pg_last_xact_replay_timestamp()) * 1000)
    end
  );
end
$$;
