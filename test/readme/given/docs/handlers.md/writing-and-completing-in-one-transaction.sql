create table accounts (name text primary key, cents integer not null check (cents >= 0));
insert into accounts values ('ann', 1000), ('ben', 0);
