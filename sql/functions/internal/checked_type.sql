-- Returns the type of a task to be enqueued, or raises an error that describes what is wrong with it or the payload,
-- with its place in the input (null: the only task).
create or replace function taskq.checked_type(_type text, _payload jsonb, _place bigint)
returns text
language plpgsql immutable parallel safe
as $$
declare
  complaint text := case
    when _type is null or _type = '' then 'it has no type'
    when octet_length(_type) > 200 then 'its type is longer than 200 bytes'
    when octet_length(_payload::text) > 1048576
    then 'its payload is larger than 1 MB; store it elsewhere and enqueue a reference to it'
  end;
begin
  if complaint is not null then
    raise exception '% cannot be enqueued: %', coalesce('task ' || _place, 'the task'), complaint
      using errcode = 'invalid_parameter_value';
  end if;
  return _type;
end
$$;
