-- Returns the fingerprint that begins like this; the text itself if no dead letter has one. Raises an error that names
-- the candidates if several do.
create or replace function taskq.known_fingerprint(_beginning text)
returns text
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  found_ones text[];
begin
  if _beginning !~ '^[0-9a-f]{1,10}$' then
    raise exception 'fingerprint %: expected the first digits of a fingerprint, such as f3a9', to_json(_beginning)
      using errcode = 'invalid_parameter_value';
  end if;
  -- From each fingerprint to the next, past all others of its group.
  with recursive known (fingerprint) as (
    (
      select d.fingerprint from taskq.dead_tasks d
      where d.fingerprint >= _beginning and d.fingerprint < _beginning || 'g'
      order by d.fingerprint limit 1
    )
    union all
    select (
      select d.fingerprint from taskq.dead_tasks d
      where d.fingerprint > k.fingerprint and d.fingerprint < _beginning || 'g'
      order by d.fingerprint limit 1
    )
    from known k where k.fingerprint is not null
  )
  select array_agg(k.fingerprint) into found_ones
  from (select known.fingerprint from known where known.fingerprint is not null limit 4) as k;
  if cardinality(found_ones) > 1 then
    raise exception 'fingerprint % is ambiguous: %', to_json(_beginning),
      array_to_string(found_ones[1:3], ', ') || case when cardinality(found_ones) > 3 then ', …' else '' end
      using errcode = 'invalid_parameter_value', hint = 'give more of its digits';
  end if;
  return coalesce(found_ones[1], _beginning);
end
$$;
