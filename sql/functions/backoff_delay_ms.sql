-- The wait in milliseconds after the n-th failure, by a stored back-off policy:
-- fixed = base, linear = base * n, quadratic = base * n^2, exponential = base * factor^(n - 1); then at most
-- max_ms, then spread by the jitter (0.2: up to 20 % earlier or later), never beyond max_ms.
-- The exponent is bounded before it is used: 2^1100 is no double any more.
create or replace function taskq.backoff_delay_ms(_backoff jsonb, _failures integer, _random double precision)
returns bigint
language sql immutable parallel safe
as $$
  select least(
    most,
    least(
      most,
      case _backoff ->> 'kind'
        when 'fixed' then base
        when 'linear' then base * _failures
        when 'quadratic' then base * _failures * _failures
        else base * power(factor, least(_failures - 1, 700 / greatest(ln(factor), 0.01)))
      end
    ) * (1 - jitter + 2 * jitter * _random)
  )::bigint
  from (
    select
      (_backoff ->> 'base_ms')::double precision as base,
      greatest(coalesce((_backoff ->> 'factor')::double precision, 2), 1) as factor,
      coalesce((_backoff ->> 'max_ms')::double precision, 3153600000000) as most,
      coalesce((_backoff ->> 'jitter')::double precision, 0) as jitter
  ) as policy
$$;
