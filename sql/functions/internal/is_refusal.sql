-- Returns whether an error with this sqlstate refuses what was given: a bad value, a constraint or a limit, or a
-- trigger of the application, with one of these states or one of its own. Any other is a fault of the server, of
-- another transaction, or of these functions (class 42: a function is missing or has another signature): it is no
-- judgement of the input.
create or replace function taskq.is_refusal(_sqlstate text)
returns boolean
language sql immutable parallel safe
as $$
  select left(_sqlstate, 2) in ('22', '23', '44', '54', 'P0')
    -- The standard leaves these to applications.
    or _sqlstate ~ '^[5-9I-Z]' and left(_sqlstate, 2) not in ('53', '55', '57', '58', '72', 'TQ', 'XX')
    or _sqlstate ~ '^[A-H]' and left(_sqlstate, 2) not in ('F0', 'HV')
$$;
