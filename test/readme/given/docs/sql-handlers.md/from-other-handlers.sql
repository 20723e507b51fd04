create schema shop;
create table shop.stock (article text primary key, pieces integer not null);
insert into shop.stock values ('tea', 1);

create function shop.take(payload jsonb) returns jsonb language plpgsql as $$
begin
  update shop.stock set pieces = pieces - 1 where article = payload ->> 'article' and pieces > 0;
  if not found then
    return '{"status": "out_of_stock"}';
  end if;
  return '{"status": "succeeded", "payload": {"taken": 1}}';
end
$$;
