-- Returns a document changed by a JSON merge patch (RFC 7386): the members of the patch replace those of their name,
-- objects member by member; null removes a member; a patch that is no object replaces the document.
create or replace function taskq.merge_patch(_target jsonb, _patch jsonb)
returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  member record;
begin
  if jsonb_typeof(_patch) is distinct from 'object' then
    return _patch;
  end if;
  if jsonb_typeof(_target) is distinct from 'object' then
    _target := '{}';
  end if;
  for member in select * from jsonb_each(_patch) as p (name, value) loop
    _target := case
      when member.value = 'null' then _target - member.name
      else _target || jsonb_build_object(member.name, taskq.merge_patch(_target -> member.name, member.value))
    end;
  end loop;
  return _target;
end
$$;
