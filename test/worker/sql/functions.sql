create schema shop;
-- alone: no other call was under way.
create table shop.calls (
  n bigint generated always as identity, task text, payload jsonb, xact xid8 default pg_current_xact_id(),
  alone boolean default pg_try_advisory_xact_lock(17)
);
-- What the functions do when they are called, by `do` in the payload.
create function shop.act(payload jsonb) returns jsonb language plpgsql as $$
begin
  insert into shop.calls (task, payload) values (payload ->> 'task', payload);
  case payload ->> 'do'
    when 'answer' then return payload -> 'answer';
    when 'raise' then
      raise exception 'no stock of %', payload ->> 'article'
        using errcode = 'P0042', detail = 'Two are ordered.', hint = 'Order more.';
    when 'divide' then perform 1 / 0;
    when 'commit' then commit;
    when 'call nothing' then perform shop.there_is_no_such_function();
    when 'sleep' then perform pg_sleep((payload ->> 'seconds')::float);
    when 'terminate' then perform pg_terminate_backend(pg_backend_pid());
    when 'wait' then
      perform pg_advisory_lock_shared(16);
    when 'leave' then
      set search_path = nowhere;
      set statement_timeout = '7s';
      perform set_config('app.tenant', 'acme', false);
      create temp table mine as select 1;
      perform pg_advisory_lock(42);
      execute 'prepare mine as select 1';
      listen mine;
      if payload ->> 'as' = 'shop_guest' then
        set session authorization shop_guest;
      end if;
    else null;
  end case;
  return '{"status": "succeeded"}';
end
$$;
create function shop.look(payload jsonb) returns jsonb language sql as $$
  select jsonb_build_object('status', 'succeeded', 'payload', jsonb_build_object(
    'path', current_setting('search_path'), 'timeout', current_setting('statement_timeout'),
    'tenant', coalesce(current_setting('app.tenant', true), ''),
    'tables', (select count(*) from pg_class where relname = 'mine'),
    'locks', (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
    'prepared', (select count(*) from pg_prepared_statements where name = 'mine'),
    'channels', (select count(*) from pg_listening_channels()), 'user', current_user, 'session', session_user
  ))
$$;
create function shop.null_answer(payload jsonb) returns jsonb language sql as 'select null::jsonb';
create function shop.text_answer(payload jsonb) returns text language sql as $$ select 'done' $$;
create function shop."Odd ""Name"""(payload jsonb) returns jsonb language sql as $$ select '{"status": "succeeded", "payload": "odd"}'::jsonb $$;
create function shop.secret(payload jsonb) returns jsonb language sql as $$ select '{"status": "succeeded"}'::jsonb $$;
revoke all on function shop.secret(jsonb) from public;
create schema hidden;
create function hidden.act(payload jsonb) returns jsonb language sql as $$ select '{"status": "succeeded"}'::jsonb $$;
create table shop.late (n integer unique deferrable initially deferred);
create function shop.fail_at_commit(payload jsonb) returns jsonb language plpgsql as $$
begin
  insert into shop.late values (1), (1);
  return '{"status": "succeeded"}';
end
$$;
