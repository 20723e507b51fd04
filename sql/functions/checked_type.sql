-- Returns the type of a task to be enqueued, or says what is wrong with the task and at which place of the input.
create or replace function taskq.checked_type(
  _type text, _queue text, _key text, _priority smallint, _payload jsonb, _tags jsonb, _place bigint
)
returns text
language plpgsql immutable parallel safe
as $$
begin
  if octet_length(_type) between 1 and 200 and octet_length(_queue) between 1 and 200
    and (_key is null or octet_length(_key) between 1 and 500)
    and _priority between 0 and 9
    and (_tags is null or jsonb_typeof(_tags) = 'object')
    -- The text of a payload can be far longer than what is stored (\u0001 is one byte, and 1e300 twelve), rarely is:
    -- writing it costs 2.5 us per KB, so only what is large is asked.
    and (pg_column_size(_payload) < 8192 or octet_length(_payload::text) <= 1048576)
  then
    return _type;
  end if;
  raise exception 'task % cannot be enqueued: %', _place, case
    when _type is null or _type = '' then 'it has no type'
    when octet_length(_type) > 200 then 'its type is longer than 200 bytes'
    when octet_length(_queue) not between 1 and 200 then 'the name of its queue is not 1 to 200 bytes long'
    when octet_length(_key) not between 1 and 500 then 'its key is not 1 to 500 bytes long'
    when _priority not between 0 and 9 then 'its priority is not 0 (the most urgent) to 9 (the least)'
    when jsonb_typeof(_tags) <> 'object' then 'its tags are not an object'
    else 'its payload is larger than 1 MB; store it elsewhere and enqueue where it is'
  end using errcode = 'invalid_parameter_value';
end
$$;
