create schema comms;
create table comms.facts (n bigint generated always as identity, task text, fact text, payload jsonb);
create sequence comms.conflicts;
-- Is in conflict with another transaction at its first call for a task that says where.
create function comms.conflict(payload jsonb, place text) returns void language plpgsql as $$
begin
  if payload ->> 'conflict' = place and nextval('comms.conflicts') % 2 = 1 then
    raise exception 'conflict' using errcode = 'serialization_failure';
  end if;
end
$$;
-- Prepares what is asked for; answers as `answer` says, if that is there.
create function comms.get_payload(payload jsonb) returns jsonb language plpgsql as $$
begin
  perform comms.conflict(payload, 'before');
  if payload ? 'raise' then
    raise exception 'no attempt %', payload ->> 'raise';
  end if;
  return coalesce(payload -> 'answer', jsonb_build_object('status', 'succeeded', 'payload', payload -> 'prepared'));
end
$$;
create function comms.record_success(payload jsonb) returns jsonb language plpgsql as $$
begin
  perform comms.conflict(payload -> 'original_payload', 'success');
  insert into comms.facts (task, fact, payload) values (payload #>> '{original_payload,task}', 'succeeded', payload);
  if payload #>> '{original_payload,break}' is not null then
    raise exception 'the table is broken';
  end if;
  return '{"success": true}';
end
$$;
create function comms.record_failure(payload jsonb) returns jsonb language plpgsql as $$
begin
  perform comms.conflict(payload -> 'original_payload', 'error');
  insert into comms.facts (task, fact, payload) values (payload #>> '{original_payload,task}', 'failed', payload);
  return '{"status": "succeeded"}';
end
$$;
