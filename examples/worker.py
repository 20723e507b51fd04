#!/usr/bin/python3
"""A worker: DATABASE_URL=postgres://… python3 examples/worker.py [--until-idle] (needs psycopg 3: python3-psycopg)"""
import json, os, signal, socket, sys, threading, time, traceback, uuid
import psycopg

HANDLERS = {'greet': lambda payload: f"hello {payload['name']}", 'divide': lambda payload: payload['by'] / payload['n']}
LEASE_MS = 30_000

stop, finished = threading.Event(), threading.Event()
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: stop.set())
db, beats = (psycopg.connect(os.environ['DATABASE_URL'], autocommit=True) for _ in range(2))
about = {'host': socket.gethostname(), 'pid': os.getpid(), 'unique_part': uuid.uuid4().hex, 'concurrency': 1,
         'lease_ms': LEASE_MS, 'poll_ms': 1000, 'types': {name: {} for name in HANDLERS}}
worker, = db.execute('select worker_id from taskq.register_worker(%s)', [json.dumps(about)]).fetchone()
held, seen = {}, {}  # its task, with lease and start; the last heartbeats of quiet workers, and since when


def beat():
    """Renews the lease, reads orders, and rescues the tasks of workers that it has seen silent for half a lease."""
    try:
        while not finished.wait(LEASE_MS / 6000):
            mine = [(id, lease_no, int((time.monotonic() - at) * 1000)) for id, (lease_no, at) in list(held.items())]
            ids, lease_nos, started = zip(*mine) if mine else ((), (), ())
            beats.execute('select taskq.heartbeat(%s, %s::bigint[], %s::int[], %s::bigint[], %s)',
                          [worker, list(ids), list(lease_nos), list(started), LEASE_MS])
            orders, = beats.execute('select taskq.get_orders(%s)', [worker]).fetchone()
            if orders is None or orders['stop']:
                stop.set()
            silent = {id: at for id, (at, since, lease) in seen.items() if time.monotonic() - since > lease / 2000}
            extra, = beats.execute('select extra from taskq.begin_rescue(_worker => %s, _held => %s::bigint[], '
                                   '_page_blocks => 10000, _watched => %s)',
                                   [worker, list(ids), json.dumps(silent)]).fetchone()
            for id, other in extra['quiet'].items():
                at, since, _ = seen.get(id, (None, None, None))
                seen[id] = other['beat_us'], since if at == other['beat_us'] else time.monotonic(), other['lease_ms']
    finally:
        stop.set()


threading.Thread(target=beat, daemon=True).start()
while not stop.is_set():
    task = db.execute("select id, lease_no, type, payload from taskq.claim(%s, '{default}', %s, 1, 0, %s)",
                      [worker, list(HANDLERS), LEASE_MS]).fetchone()
    if task is None:
        if '--until-idle' in sys.argv or stop.wait(1): break
        continue
    held[task[0]] = task[1], time.monotonic()
    try:
        outcome = {'outcome': 'completed', 'result': HANDLERS[task[2]](task[3])}
    except Exception as error:
        told = {'name': error.__class__.__name__, 'message': str(error), 'stack': traceback.format_exc()}
        outcome = {'outcome': 'failed', 'error': told}
    settled = [worker, json.dumps([outcome | {'id': str(task[0]), 'lease_no': task[1]}])]
    while db.execute('select answer from taskq.settle(%s, %s)', settled).fetchone()[0] == 'busy': time.sleep(0.05)
    del held[task[0]]
finished.set()
db.execute('select taskq.unregister_worker(%s)', [worker])
