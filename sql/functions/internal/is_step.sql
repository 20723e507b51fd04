-- Returns whether these options of a step of a workflow are valid: the id of the workflow, the name of the step, its
-- parents (names, or {step, on_death}), and what their death means for it. Absent options and the
-- JSON value null are valid.
create or replace function taskq.is_step(_options jsonb)
returns boolean
language sql immutable parallel safe
as $$
  select coalesce(jsonb_typeof(_options -> 'workflow') in ('number', 'string', 'null'), true)
    and coalesce(_options ->> 'workflow' ~ '^[1-9][0-9]{0,17}$', true)
    and coalesce(jsonb_typeof(_options -> 'step') in ('string', 'null'), true)
    and coalesce(octet_length(_options ->> 'step') between 1 and 200, true)
    and coalesce(_options ->> 'on_death' in ('cancel', 'continue', 'wait'), true)
    and (
      coalesce(jsonb_typeof(_options -> 'after'), 'null') = 'null'
      or jsonb_typeof(_options -> 'after') = 'array' and not exists (
        select from jsonb_array_elements(_options -> 'after') as a (parent)
        where not case jsonb_typeof(a.parent)
          when 'string' then octet_length(a.parent #>> '{}') between 1 and 200
          when 'object' then
            a.parent - '{step,on_death}'::text[] = '{}'
            and coalesce(jsonb_typeof(a.parent -> 'step') = 'string', false)
            and octet_length(a.parent ->> 'step') between 1 and 200
            and coalesce(a.parent ->> 'on_death' in ('cancel', 'continue', 'wait'), true)
          else false
        end
      )
    )
$$;
