-- The wait in milliseconds after the n-th failure, by a stored back-off policy:
-- fixed = base, linear = base * n, quadratic = base * n^2, exponential = base * factor^(n - 1); then at most
-- max_ms, then spread by the jitter (0.2: up to 20 % earlier or later), never beyond max_ms. backoffDelayMs in
-- TypeScript says the same.
-- The exponent is bounded before it is used, so that no product leaves the range of a double (power() and `*` raise
-- an error there): factor^(600 / ln factor) = e^600 = 10^260 is beyond any max_ms.
create or replace function taskq.backoff_delay_ms(_backoff jsonb, _failures integer, _random double precision)
returns bigint
language sql immutable parallel safe
as $$
  select floor(least(
    most,
    least(
      most,
      case _backoff ->> 'kind'
        when 'fixed' then base
        when 'linear' then base * n
        when 'quadratic' then base * n * n
        else base * power(factor, case when factor > 1 then least(n - 1, 600 / ln(factor)) else 0 end)
      end
    ) * (1 - jitter + 2 * jitter * _random)
  ))::bigint
  from (
    select
      greatest(_failures, 1)::double precision as n,
      coalesce((_backoff ->> 'base_ms')::double precision, 5000) as base,
      greatest(coalesce((_backoff ->> 'factor')::double precision, 2), 1) as factor,
      coalesce((_backoff ->> 'max_ms')::double precision, 3153600000000) as most,
      coalesce((_backoff ->> 'jitter')::double precision, 0) as jitter
  ) as policy
$$;
