create schema comms;
create table comms.facts (n bigint generated always as identity, task text, fact text, payload jsonb);
-- Prepares what is asked for; answers as `answer` says, if that is there.
create function comms.get_payload(payload jsonb) returns jsonb language plpgsql as $$
begin
  if payload ? 'raise' then
    raise exception 'no attempt %', payload ->> 'raise';
  end if;
  return coalesce(payload -> 'answer', jsonb_build_object('status', 'succeeded', 'payload', payload -> 'prepared'));
end
$$;
create function comms.record_success(payload jsonb) returns jsonb language plpgsql as $$
begin
  insert into comms.facts (task, fact, payload) values (payload #>> '{original_payload,task}', 'succeeded', payload);
  if payload #>> '{original_payload,break}' is not null then
    raise exception 'the table is broken';
  end if;
  return '{"success": true}';
end
$$;
create function comms.record_failure(payload jsonb) returns jsonb language plpgsql as $$
begin
  insert into comms.facts (task, fact, payload) values (payload #>> '{original_payload,task}', 'failed', payload);
  return '{"status": "succeeded"}';
end
$$;
