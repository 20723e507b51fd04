-- Stores the settings for all tasks from a worker's configuration (_settings: see taskq.default_options), for every
-- producer. The last worker that has a setting wins. If it lacks a setting, the stored one stays while the worker that
-- registered last is alive, so that a worker from elsewhere removes nothing; otherwise it is removed, because no
-- configuration has it. A setting of an operator takes precedence and stays. Returns false if another transaction has
-- locked the defaults: ask again.
create or replace function taskq.register_defaults(_settings jsonb, _by text, _ts timestamptz)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  stored record;
  stands jsonb;
begin
  _settings := jsonb_strip_nulls(taskq.checked_options('defaults', _settings, taskq.default_options()));
  select d.registered, d.registered_by into stored from taskq.defaults d for no key update skip locked;
  if not found then
    return false;
  end if;
  stands := case
    when taskq.is_live_worker(stored.registered_by, _ts) then stored.registered || _settings
    else _settings
  end;
  if stands <> stored.registered or (_settings <> '{}' and stored.registered_by is distinct from _by) then
    update taskq.defaults
    set registered = stands, registered_by = case when _settings = '{}' then registered_by else _by end;
    perform taskq.apply_defaults();
  end if;
  return true;
end
$$;
