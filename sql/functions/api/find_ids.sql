-- Returns the ids of a page of tasks that match a filter, for verbs that act on many: {status: […], type, queue,
-- queues: […] (names in which `*` stands for any text), priority, key, group, workflow, tags: {k: v}, reason (of a dead
-- letter or of a cancel request), since, before, failed: true, by_hand: false, payload: {"order.id": "42"} (values as
-- text, by their paths), fingerprint (of dead letters alone: its first digits; an error if several begin so)}; an
-- unknown name is an error. `since` (inclusive) and `before` (exclusive) apply to the time at which a task ended or,
-- while it is live, was created. Newest first; dead letters alone (status ["dead"]) by time of death. Reads at most
-- _window rows below _after (the previous next_after; null: from the newest), so that a filter without matches costs a
-- page, not the table; at most 1,000 with a payload, because payloads may be large. next_after is where the next page
-- begins; null on the last page.
-- Arguments: _filter, an object; _limit, the most ids to return; _after and _window, as above.
-- Granted to: reader, operator.
create or replace function taskq.find_ids(
  _filter jsonb, _limit integer default 1000, _after text default null, _window integer default 20000
)
returns table (ids bigint[], next_after text)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  known constant text[] := array[
    'status', 'type', 'queue', 'queues', 'priority', 'key', 'group', 'workflow', 'tags', 'reason', 'since', 'before',
    'failed', 'by_hand', 'fingerprint', 'payload'
  ];
  by_death constant boolean := coalesce(_filter -> 'status' = '["dead"]', false);
  page record;
begin
  perform taskq.refuse_unknown_options('filter', _filter, known);
  if _after !~ (case when by_death then '^-?[0-9]{1,18}-[0-9]{1,18}$' else '^[0-9]{1,18}$' end) then
    raise exception 'after "%": expected the next_after of the previous page', _after
      using errcode = 'invalid_parameter_value';
  end if;
  if _filter ? 'fingerprint' and not by_death then
    raise exception 'filter: only dead letters have a fingerprint' using errcode = 'invalid_parameter_value',
      hint = 'add "status": ["dead"]';
  end if;
  if jsonb_typeof(_filter -> 'status') <> 'array' then
    raise exception 'filter: status %: expected an array such as ["pending"]', left((_filter -> 'status')::text, 100)
      using errcode = 'invalid_parameter_value';
  end if;
  if jsonb_typeof(_filter -> 'queues') <> 'array' then
    raise exception 'filter: queues %: expected an array such as ["mail-*"]', left((_filter -> 'queues')::text, 100)
      using errcode = 'invalid_parameter_value';
  end if;
  if _filter ? 'payload' then
    if jsonb_typeof(_filter -> 'payload') is distinct from 'object' then
      raise exception 'filter: payload %: expected an object', left((_filter -> 'payload')::text, 100)
        using errcode = 'invalid_parameter_value', hint = 'such as {"order.id": "42"}';
    end if;
    _window := least(_window, 1000);
  end if;
  if by_death then
    if _filter ? 'fingerprint' then
      _filter := _filter || jsonb_build_object('fingerprint', taskq.known_fingerprint(_filter ->> 'fingerprint'));
    end if;
    select p.* into page from taskq.find_by_death(_filter, _limit, _after, _window) as p;
  else
    select p.* into page from taskq.find_by_id(_filter, _limit, _after::bigint, _window) as p;
  end if;
  ids := page.ids;
  next_after := case when cardinality(ids) = _limit or page.looked = _window then page.lowest end;
  return next;
end
$$;
