-- Returns the type of a task to be enqueued, or says what is wrong with the task and at which place of the input.
create or replace function taskq.checked_type(
  _type text, _queue text, _key text, _priority smallint, _payload jsonb, _tags jsonb, _place bigint
)
returns text
language plpgsql immutable parallel safe
as $$
declare
  complaint text := case
    when _type is null or _type = '' then 'it has no type'
    when octet_length(_type) > 200 then 'its type is longer than 200 bytes'
    when octet_length(_queue) not between 1 and 200 then 'the name of its queue is not 1 to 200 bytes long'
    when octet_length(_key) not between 1 and 500 then 'its key is not 1 to 500 bytes long'
    when _priority not between 0 and 9 then 'its priority is not 0 (the most urgent) to 9 (the least)'
    when jsonb_typeof(_tags) <> 'object' then 'its tags are not an object'
    when octet_length(_payload::text) > 1048576
    then 'its payload is larger than 1 MB; store it elsewhere and enqueue where it is'
  end;
begin
  if complaint is not null then
    raise exception 'task % cannot be enqueued: %', _place, complaint using errcode = 'invalid_parameter_value';
  end if;
  return _type;
end
$$;
