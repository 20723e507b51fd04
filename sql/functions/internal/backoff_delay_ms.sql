-- Returns the wait in milliseconds after the n-th failure under a stored back-off policy: fixed = base, linear = base *
-- n, quadratic = base * n^2, exponential = base * factor^(n - 1); then at most max_ms, then spread by the jitter (0.2:
-- up to 20 % earlier or later), never beyond max_ms. test/domain/backoff-delay-ms.ts computes the same. Null: the
-- policy cannot be evaluated, because it is no object or has text where a number belongs.
--
-- Never raises an error, whatever is stored: a row may have been inserted by hand, and a settle covers many tasks. So
-- numbers are bounded before they are used, and so is the exponent, so that no product leaves the range of a double
-- (power() and `*` raise an error there, above and below): factor^(600 / ln factor) = e^600 = 10^260 is beyond any
-- max_ms, and values near zero count as 0.
--
-- PL/pgSQL reads each number once, at half the cost of one SQL expression [16 us; in PL/pgSQL: 7].
create or replace function taskq.backoff_delay_ms(_backoff jsonb, _failures integer, _random double precision)
returns bigint
language plpgsql immutable parallel safe
as $$
declare
  base double precision;
  factor double precision;
  most double precision;
  jitter double precision;
  n double precision := greatest(_failures, 1);
  nothing constant numeric := 1e-300;
  given numeric;
begin
  if jsonb_typeof(_backoff) not in ('object', 'null')
    or jsonb_typeof(_backoff -> 'base_ms') not in ('number', 'null')
    or jsonb_typeof(_backoff -> 'factor') not in ('number', 'null')
    or jsonb_typeof(_backoff -> 'max_ms') not in ('number', 'null')
    or jsonb_typeof(_backoff -> 'jitter') not in ('number', 'null') then
    return null;
  end if;
  given := coalesce((_backoff ->> 'base_ms')::numeric, 5000);
  base := case when given < nothing then 0 else least(given, 3155760000000) end;
  factor := least(greatest(coalesce((_backoff ->> 'factor')::numeric, 2), 1), 1000000);
  given := coalesce((_backoff ->> 'max_ms')::numeric, 3155760000000);
  most := case when given < nothing then 0 else least(given, 3155760000000) end;
  given := coalesce((_backoff ->> 'jitter')::numeric, 0);
  jitter := case when given < nothing then 0 else least(given, 1) end;
  return floor(least(
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
  ));
end
$$;
