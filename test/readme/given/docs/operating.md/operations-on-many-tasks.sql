select from taskq.enqueue_many((select jsonb_agg('{"type": "pay"}'::jsonb) from generate_series(1, 1000)), '{"allow_unknown": true}');
select from taskq.tasks t cross join lateral taskq.add_dead(t.id, 'no currency') where t.type = 'pay';
update taskq.dead_tasks set by_hand = false, fingerprint = 'f3a9000000';
alter sequence taskq.operations_id_seq restart 12;
