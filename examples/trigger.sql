-- A table whose rows are followed by tasks: an order is stored if and only if its task is.
--   psql "$DATABASE_URL" -f examples/trigger.sql
\set ON_ERROR_STOP on
\set QUIET on
set client_min_messages = warning;
create schema if not exists greetings;
create table greetings.orders (id bigint generated always as identity primary key, customer text not null);

-- With the rights of its owner, who may enqueue: roles that insert orders need no such grant. The inserting role is
-- still recorded as the one that enqueued the task.
create function greetings.enqueue_greeting()
returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform taskq.enqueue(
    'greet', jsonb_build_object('name', new.customer), jsonb_build_object('key', 'order-' || new.id)
  );
  return null;
end
$$;

create trigger enqueue_greeting after insert on greetings.orders
for each row execute function greetings.enqueue_greeting();
