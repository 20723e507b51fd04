import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createProject, type Project } from '../cli/project.ts';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import { openWay } from '../worker/support/proxy.ts';
import { listenTo } from './live-events.ts';

const MB = 1024 * 1024;

let project: Project;
let server: Served;
let authorization: string;

beforeAll(async () => {
  project = await createProject();
  const { token } = await project.json(['tokens', 'add', 'ann', '--role', 'producer']);
  authorization = `Bearer ${token}`;
  const worker = startTaskq(['work'], { cwd: project.directory, env: { DATABASE_URL: project.url } });
  server = await serve(project.url, '--write');
  await worker.waitForLog(({ event }) => event === 'worker.started');
  return () => {
    // The worker has seen nothing of all this.
    expect(worker.logs().filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  };
});
afterAll(async () => {
  await killStartedTaskqs();
  await project.drop();
});

interface Served {
  readonly pid: number;
  readonly origin: string;
}

async function serve(databaseUrl: string, ...args: readonly string[]): Promise<Served> {
  const { pid, waitForLog } = startTaskq(['serve', '--port', '0', '--json', ...args], {
    cwd: project.directory,
    env: { DATABASE_URL: databaseUrl },
  });
  const { url } = await waitForLog((line) => line.url !== undefined);
  return { pid, origin: new URL(url as string).origin };
}

/** Enqueues a task, and waits until the worker beside has done it. */
async function expectService(): Promise<void> {
  const sent = await fetch(`${server.origin}/api/v1/tasks`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: '{"type":"double","payload":{"n":1}}',
  });
  const task = (await sent.json()) as { readonly id: string };
  expect({ status: sent.status, task }).toMatchObject({ status: 201 });
  const status = async () => (await project.client.query(STATUS, [task.id])).rows[0]?.status;
  await expect.poll(status).toBe('completed');
}

const STATUS = 'select status from taskq.all_tasks where id = $1';

/** Returns what says by how many bytes the memory of the server has grown at most since now. */
async function growth(): Promise<() => Promise<number>> {
  // What the first request takes for good is no growth.
  await expectService();
  const most = async () =>
    1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${server.pid}/status`, 'utf8'))![1]);
  // From now on, the most since now.
  await writeFile(`/proc/${server.pid}/clear_refs`, '5');
  const before = await most();
  return async () => (await most()) - before;
}

interface Client {
  readonly socket: Socket;
  /** What it has read. */
  text(): string;
  /** Something of an answer has come. */
  readonly answered: Promise<unknown>;
  /** The server has closed the connection. */
  readonly closed: Promise<unknown>;
}

const opened: Socket[] = [];
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});

/** Opens a connection, and sends this. It ends with the test. */
async function client(sent: string): Promise<Client> {
  const socket = connect(Number(new URL(server.origin).port), '127.0.0.1');
  opened.push(socket);
  let text = '';
  // One that is closed while it sends is told so by an error.
  socket.setEncoding('latin1').on('error', () => {});
  const closed = new Promise((resolve) => socket.on('close', resolve));
  const answered = new Promise((resolve) => socket.once('data', resolve));
  socket.on('data', (more: string) => {
    text += more;
  });
  await once(socket, 'connect');
  socket.write(sent);
  return { socket, text: () => text, answered, closed };
}

/** A request as it is sent, up to its body. */
function head(method: string, path: string, ...headers: readonly string[]): string {
  const { host } = new URL(server.origin);
  return [
    `${method} ${path} HTTP/1.1`,
    `host: ${host}`,
    `authorization: ${authorization}`,
    ...headers,
    '',
    '',
  ].join('\r\n');
}

const POST = ['POST', '/api/v1/tasks', 'content-type: application/json'] as const;

test.each([
  ['its length', `content-length: ${1024 * MB}`],
  ['chunks', 'transfer-encoding: chunked'],
])('a body of 1 GB with %s is refused before it is sent, and fills no memory', async (_, header) => {
  const grown = await growth();
  const { socket, text, closed } = await client(head(...POST, header));
  const part = 'x'.repeat(MB - 1);
  const framed = (body: string) =>
    header.endsWith('chunked') ? `${body.length.toString(16)}\r\n${body}\r\n` : body;
  socket.write(framed('{"type":"double","queue":"huge","payload":"'));
  let sent = 0;
  const pour = async () => {
    for (; sent < 1024 && !socket.destroyed; sent += 1)
      if (!socket.write(framed(part))) await Promise.race([once(socket, 'drain').catch(() => {}), closed]);
  };
  await Promise.all([pour(), closed]);
  // The system may forget the answer when the connection is closed on a client that still sends.
  if (text() !== '') {
    expect(text()).toMatch(/^HTTP\/1\.1 413 /);
    expect(text()).toMatch(/^content-type: application\/problem\+json\r$/im);
    expect(text()).toContain('"code":"too_large"');
  }
  expect(sent).toBeLessThan(256);
  expect(await grown()).toBeLessThan(64 * MB);
  await expectService();
  const { rows } = await project.client.query("select from taskq.all_tasks where queue = 'huge'");
  expect(rows).toEqual([]);
});

test('1,300 slow clients keep nobody waiting, and are closed', async () => {
  const grown = await growth();
  const many = (count: number, sent: string) =>
    Promise.all(Array.from({ length: count }, () => client(sent)));
  const half = head(...POST, 'content-length: 200000', 'expect: 100-continue');
  const silent = await many(100, '');
  const inHead = await many(200, half.slice(0, -20));
  const inBody = await many(1000, half);
  // The server has read the heads of these, and so has accepted all before.
  await Promise.all(inBody.map(({ answered }) => answered));
  for (const { socket } of inBody)
    socket.write(`{"type":"double","queue":"slow","payload":"${'x'.repeat(10_000)}`);
  await expectService();
  const slow = [...silent, ...inHead, ...inBody];
  await Promise.all([...silent, ...inHead].map(({ closed }) => closed));
  await expectService();
  await Promise.all(slow.map(({ closed }) => closed));
  expect(slow.filter(({ text }) => !/^HTTP\/1\.1 408 /m.test(text())).length).toBe(0);
  expect(await grown()).toBeLessThan(128 * MB);
  const { rows } = await project.client.query("select from taskq.all_tasks where queue = 'slow'");
  expect(rows).toEqual([]);
});

test('a client that was cut off and does not close keeps no connection', async () => {
  const socket = connect({
    port: Number(new URL(server.origin).port),
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  opened.push(socket);
  await once(socket, 'connect');
  socket.on('error', () => {}).resume();
  const closed = new Promise((resolve) => socket.on('close', resolve));
  const ended = once(socket, 'end');
  socket.write(head(...POST).slice(0, -20));
  await ended;
  // A server that has closed answers what it is sent by a reset.
  const writing = setInterval(() => socket.write('x'), 100);
  await closed.finally(() => clearInterval(writing));
});

test('a path that is not UTF-8 is refused by the server as it is packed', async () => {
  const answer = await fetch(`${server.origin}/api/v1/queues/a%ffb`);
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ code: 'bad_name' });
});

test('clients that never read what they asked for fill no memory, and are closed', async () => {
  // Ten tasks for a later time, 10 MB in all.
  await project.client.query(
    `select taskq.enqueue('double', jsonb_build_object('n', 1, 'x', repeat('x', 1000000)),
       '{"queue": "large", "at": "2999-01-01T00:00:00Z", "allow_unknown": true}') from generate_series(1, 10)`,
  );
  const grown = await growth();
  const asking = async (path: string) => {
    const asked = await client(head('GET', path));
    // The answer has come; from now on it takes nothing.
    await asked.answered;
    asked.socket.pause();
    return asked;
  };
  for (let n = 0; n < 50; n += 1) await asking('/api/v1/live');
  const pages: Client[] = [];
  for (let n = 0; n < 40; n += 1) pages.push(await asking('/api/v1/tasks?queue=large'));
  await expectService();
  // Held, they would be a gigabyte; what is made and thrown away for an answer is some hundred megabytes.
  expect(await grown()).toBeLessThan(600 * MB);
  // A stream holds nothing, and stays.
  await expect.poll(() => openOf(pages)).toBe(0);
  await expectService();
});

/** How many of these connections the server has not closed. A client that reads nothing is not told. */
async function openOf(clients: readonly Client[]): Promise<number> {
  const table = await readFile('/proc/net/tcp', 'utf8');
  const end = (port: number) => `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const here = end(Number(new URL(server.origin).port));
  return clients.filter(({ socket }) => table.includes(`${here} ${end(socket.localPort!)} 01 `)).length;
}

test('fifty tabs cost at most a statement a second, and each gets its events', async () => {
  const way = await openWay(project.directUrl);
  try {
    const { origin } = await serve(way.url);
    const sample = async () => {
      await project.client.query('update taskq.sampling set took_ms = 0');
      await project.client.query('select taskq.take_sample()');
    };
    await sample();
    const tabs = await Promise.all(Array.from({ length: 50 }, () => listenTo(origin)));
    for (const { next } of tabs) expect((await next())!.event).toBe('stats');
    let statements = 0;
    const began = performance.now();
    // Sees what is sent to the database, and loses nothing.
    void way.loseAnswerOf(() => {
      statements += 1;
      return false;
    });
    for (let samples = 0; samples < 3; samples += 1) {
      await sample();
      await expectService();
      for (const { next } of tabs) expect((await next())!.event).toBe('stats');
    }
    expect(statements).toBeGreaterThanOrEqual(3);
    expect(statements).toBeLessThanOrEqual(1 + (performance.now() - began) / 1000);
    await Promise.all(tabs.map(({ leave }) => leave()));
  } finally {
    await way.close();
  }
});
