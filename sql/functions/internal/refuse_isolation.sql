-- Raises an error that a function runs in a transaction whose snapshot is as old as its first statement: a claim would
-- not see the slots and tasks that others have taken since.
create or replace function taskq.refuse_isolation(_of text)
returns void
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  raise exception '%: the transaction is %: expected read committed', _of, current_setting('transaction_isolation')
    using errcode = 'invalid_transaction_state', hint = 'begin isolation level read committed';
end
$$;
