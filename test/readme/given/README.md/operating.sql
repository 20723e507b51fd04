alter table taskq.workers alter column id restart with 11;
