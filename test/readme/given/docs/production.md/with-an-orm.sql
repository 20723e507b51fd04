create table orders (id integer primary key);
select taskq.add_types('{send-receipt}');
