import type { Session } from './session.ts';

/** A row put into `taskq.tasks` by hand, with a value that no enqueue would store. */
export interface OddRow {
  readonly id: string;
  readonly column: string;
  /** As a SQL literal. */
  readonly value: string;
}

/** What the protocol counts of a waiting task: no application has a say, but a hand that edits rows may. */
const COUNTED = ['lease_no', 'started_at', 'attempts', 'losses', 'releases', 'settled_by', 'lost_ahead'];
/** Of these the protocol alone has a say; and a type that nobody handles is claimed by nobody. */
const NOT_FOR_APPLICATIONS = [...COUNTED, 'status', 'lease_owner', 'lease_expires_at', 'type'];

const TEXTS = [
  ...[
    "''",
    "' '",
    "'5s'",
    "'0d'",
    "'99999d'",
    "'ever'",
    "'none'",
    "'NaN'",
    "'日本😀'",
    "e'\\x01\\x7f'",
    '\'{"a"\'',
  ],
  "repeat('a', 100000)",
];
const BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  bigint: ['-9223372036854775808', '-1', '0', '1', '9007199254740993', '9223372036854775807'],
  integer: ['-2147483648', '-1', '0', '1', '2147483647'],
  smallint: ['-32768', '0', '9', '32767'],
  boolean: ['true', 'false'],
  '"char"': ["''", "'x'", "e'\\x7f'"],
  'timestamp with time zone': [
    ...["'-infinity'", "'infinity'", "'4714-11-24 00:00Z BC'", "'0001-01-01Z'", "'1969-12-31Z'"],
    ...["'9999-12-31Z'", "'294276-12-31Z'"],
  ],
  jsonb: [
    ...["'null'", "'true'", "'-1'", "'1e400'", '\'"5s"\'', '\'"NaN"\'', "'[]'", "'[1]'", "'{}'"],
    ...['{"base_ms":"5s"}', '{"max_ms":"1h"}', '{"base_ms":1e400}', '{"base_ms":-1}', '{"max_ms":[]}'],
    ...[
      '{"factor":"NaN"}',
      '{"factor":1e300,"base_ms":1e300,"max_ms":1e300}',
      '{"jitter":1e300}',
      '{"jitter":{}}',
    ],
    ...[
      '{"kind":5}',
      '{"kind":"quadratic","base_ms":1e300}',
      '{"max_ms":1e300,"base_ms":1e300}',
      '{"max_ms":null}',
    ],
    "(repeat('[', 3000) || repeat(']', 3000))::jsonb",
  ].map((value) => (value.startsWith('{') ? `'${value}'` : value)),
  text: TEXTS,
  'taskq.retention': TEXTS,
};

/**
 * Insert a due task of each of these types for each value that a column takes which an application may set, and so for all
 * columns there are. What the table refuses is left out.
 */
export function insertOddRows(session: Session, types: readonly string[]): Promise<OddRow[]> {
  return insertRows(session, types, 'attname <> all ($1)', NOT_FOR_APPLICATIONS);
}

/** The same for tasks of one type in a group, which have started, expire, and wait for a slot ('w') or their time ('d'). */
export function insertOddGrouped(session: Session, type: string, gate: 'w' | 'd'): Promise<OddRow[]> {
  return insertRows(session, [type], 'attname <> all ($1)', [...NOT_FOR_APPLICATIONS, 'gate', 'group_key'], {
    ...{ gate: `'${gate}'`, group_key: "'g'", status: "'blocked'", available_at: "'infinity'" },
    not_before: `clock_timestamp() + interval '${gate === 'd' ? 1 : 0} h'`,
    started_at: 'clock_timestamp()',
    expires_at: "clock_timestamp() + interval '1 day'",
  });
}

/** The same for the columns by which the protocol counts. */
export function insertOddCounts(session: Session, types: readonly string[]): Promise<OddRow[]> {
  return insertRows(session, types, 'attname = any ($1)', COUNTED);
}

async function insertRows(
  session: Session,
  types: readonly string[],
  which: string,
  names: readonly string[],
  usual: Readonly<Record<string, string>> = {},
): Promise<OddRow[]> {
  const columns = await session.rows<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, null) as type from pg_attribute
     where attrelid = 'taskq.tasks'::regclass and attnum > 0 and not attisdropped and ${which}
     order by attnum`,
    names,
  );
  const inserted: OddRow[] = [];
  for (const { name, type } of columns) {
    const values = BY_TYPE[type];
    if (values === undefined) throw new Error(`no odd values of type ${type}, of which ${name} is`);
    for (const value of values) {
      for (const of of types) {
        const row = await insert(session, { ...USUAL, ...usual, type: `'${of}'`, [name]: value });
        if (row !== undefined) inserted.push({ id: row, column: name, value });
      }
    }
  }
  return inserted;
}

const USUAL: Readonly<Record<string, string>> = {
  payload: "'{}'",
  available_at: 'clock_timestamp()',
  not_before: 'clock_timestamp()',
  created_at: 'clock_timestamp()',
  max_attempts: '2',
  backoff: '\'{"kind": "fixed", "base_ms": 0}\'',
};

/** Undefined: the table does not take it. */
async function insert(session: Session, row: Readonly<Record<string, string>>): Promise<string | undefined> {
  try {
    return await session.value<string>(
      `insert into taskq.tasks (${Object.keys(row)}) values (${Object.values(row)}) returning id`,
    );
  } catch (error) {
    // Class 22: no value of that type; 23: a constraint.
    if (/^2[23]/.test((error as { code?: string }).code ?? '')) return undefined;
    throw error;
  }
}
