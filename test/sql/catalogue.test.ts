import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { KINDS, kindsIn } from '../../src/queue/schema/head-comment.ts';
import {
  commentOf,
  hashRelease,
  readAdditions,
  readFunctions,
  readRelease,
  SQL,
} from '../../src/queue/schema/schema-release.ts';
import { useDatabase } from '../queue/session.ts';

const queue = useDatabase();

/** Written by every claim, heartbeat or settle: in an index, they would end the heap-only updates. */
const NEVER_INDEXED =
  /\b(status|lease_\w+|started_at|attempts|losses|releases|cancel_\w+|progress|error|again)\b/;

/** Functions without access to data: they may run with the rights of whoever calls them. */
const PURE = [
  'again_of',
  'applying',
  'are_ids',
  'asking_queues',
  'attempt_times',
  'backoff_delay_ms',
  'batch_of_rate',
  'bucket_of',
  'burst_of',
  'checked_type',
  'claim_extra',
  'closed_until',
  'cron_values',
  'cursor_at',
  'cursor_id',
  'dead_of_finished',
  'dead_task',
  'default_options',
  'drop_on',
  'epoch_us',
  'every_ms',
  'fingerprint',
  'finished_task',
  'first_failures',
  'first_gate',
  'fits_filter',
  'fits_payload',
  'free_slots_of',
  'given_tasks',
  'group_rate_left',
  'group_slots',
  'has_expired',
  'histogram',
  'holding_dead_tasks',
  'is_backoff',
  'is_breaker',
  'is_callback',
  'is_common_form',
  'is_expression',
  'is_log',
  'is_outgrown',
  'is_refusal',
  'is_retention',
  'is_server_fault',
  'is_step',
  'is_text',
  'is_tied',
  'is_waiting',
  'is_whole',
  'jitter_of',
  'json_types',
  'lease_step',
  'may_lose_slot',
  'may_start',
  'merge_patch',
  'metric_bounds',
  'mutex_of',
  'needs_check_path',
  'new_task',
  'next_lease_no',
  'next_slot_at',
  'next_start_at',
  'on_end_of',
  'open_breakers',
  'open_levels',
  'opening',
  'opens_breaker',
  'options_are_valid',
  'options_fit',
  'own_frame',
  'patterns_of',
  'pause_left',
  'payload_weight',
  'percentile_of',
  'percentiles_of',
  'period_ms',
  'priority_named',
  'queue_options',
  'queue_patterns',
  'rate_of',
  'replaced_settings',
  'revived_task',
  'schedule_settings',
  'settings_of',
  'shifted',
  'slot_holders',
  'sourced_settings',
  'standing_breakers',
  'standing_limits',
  'starts_left',
  'statuses_of',
  'step_options',
  'step_status',
  'sum_of_each',
  'task_options',
  'tick_text',
  'time_after_step',
  'type_options',
  'unlimited',
  'why_stopped',
  'without_values',
  'workflow_callback',
];
/** Planned into the functions that call it, it reads with their rights. */
const READS_AS_ITS_CALLER = [
  'closed_until',
  'given_tasks',
  'group_rate_left',
  'asking_queues',
  'group_slots',
  'holding_dead_tasks',
  'open_breakers',
  'open_levels',
  'slot_holders',
  'standing_breakers',
  'standing_limits',
];
/** What domains, triggers and views call: made by the migration that makes those. */
const OF_MIGRATIONS = [
  'applying',
  'cron_values',
  'every_ms',
  'is_backoff',
  'is_breaker',
  'is_expression',
  'is_retention',
  'keep_breaker',
  'keep_past_settings',
  'settings_of',
];
/** What is planned into its caller names its schema: it may have no search path of its own. */
const PURE_PARTS = new RegExp(
  `\\btaskq\\.(${[...PURE, 'checked_task', 'retention', 'backoff', 'breaker', 'task_status'].join('|')})\\b`,
  'g',
);

test('no index depends on the collation of the database, whose order a new libc or ICU may change', async () => {
  const sorted = await queue.admin.rows<{ name: string; collation: string }>(
    `select distinct i.indexrelid::regclass::text as name, k.collname as collation
     from pg_index i
     join pg_class c on c.oid = i.indrelid and c.relnamespace = 'taskq'::regnamespace
     cross join unnest(i.indcollation) as by (oid)
     join pg_collation k on k.oid = by.oid
     where c.relname <> 'migrations'`,
  );
  expect(sorted.map(({ name }) => name)).toContain('taskq.tasks_live_key');
  expect(sorted.filter(({ collation }) => collation !== 'C')).toEqual([]);
});

describe('the live table', () => {
  test('no index mentions a column that every claim, heartbeat or settle writes', async () => {
    const indexes = await queue.admin.rows<{ name: string; definition: string }>(
      `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
       from pg_index where indrelid = 'taskq.tasks'::regclass`,
    );
    expect(indexes.length).toBeGreaterThan(3);
    expect(indexes.filter((index) => NEVER_INDEXED.test(index.definition))).toEqual([]);
  });

  test.each([
    'create index on taskq.tasks (queue, lease_expires_at)',
    "create index on taskq.tasks (id) where status = 'pending'",
    'create index on taskq.tasks ((attempts + 1))',
    'create index on taskq.tasks (queue) include (progress)',
  ])('such an index would be found: %s', async (statement) => {
    await queue.admin.rows('begin');
    await queue.admin.rows(statement);
    const found = await queue.admin.rows<{ definition: string }>(
      "select pg_get_indexdef(indexrelid) as definition from pg_index where indrelid = 'taskq.tasks'::regclass",
    );
    await queue.admin.rows('rollback');
    expect(found.filter((index) => NEVER_INDEXED.test(index.definition))).toHaveLength(1);
  });

  test('no trigger and no rule hangs on it, no foreign key leaves it or refers to it, no view but all_tasks shows it', async () => {
    const hanging = `
      select tgname from pg_trigger where tgrelid = 'taskq.tasks'::regclass
      union all
      select conname from pg_constraint
      where contype = 'f' and 'taskq.tasks'::regclass in (conrelid, confrelid)
      union all
      select rulename from pg_rewrite where ev_class = 'taskq.tasks'::regclass`;
    expect(await queue.admin.rows(hanging)).toEqual([]);
    const views = `
      select distinct r.ev_class::regclass::text as name from pg_depend d join pg_rewrite r on r.oid = d.objid
      where d.refobjid = 'taskq.tasks'::regclass and d.classid = 'pg_rewrite'::regclass`;
    const names = (await queue.admin.rows<{ name: string }>(views)).map(({ name }) =>
      name.replace('taskq.', ''),
    );
    expect(names).toEqual(['all_tasks']);
  });

  test('its pages have room for the next version of each row, and autovacuum comes early', async () => {
    const options = await queue.admin.value<string[]>(
      "select reloptions from pg_class where oid = 'taskq.tasks'::regclass",
    );
    expect(options.toSorted()).toEqual([
      'autovacuum_vacuum_cost_delay=0',
      'autovacuum_vacuum_scale_factor=0',
      'autovacuum_vacuum_threshold=5000',
      'fillfactor=45',
      'vacuum_truncate=off',
    ]);
  });
});

interface Routine {
  readonly name: string;
  readonly definer: boolean;
  readonly settings: string[] | null;
  readonly acl: string | null;
  readonly source: string;
}

function routines(): Promise<Routine[]> {
  return queue.admin.rows<Routine>(
    `select proname as name, prosecdef as definer, proconfig as settings, proacl::text as acl, prosrc as source
     from pg_proc where pronamespace = 'taskq'::regnamespace order by proname`,
  );
}

describe('every function', () => {
  test('runs with the rights of the owner of the schema, unless it touches no data', async () => {
    const callers = (await routines()).filter((routine) => !routine.definer);
    expect(callers.map((routine) => routine.name)).toEqual(PURE);
    for (const { name, source } of callers)
      if (!READS_AS_ITS_CALLER.includes(name))
        expect(source.replaceAll(PURE_PARTS, ''), name).not.toMatch(/taskq\./);
  });

  test('that runs with those rights has a search path that no other role can write to', async () => {
    for (const { name, definer, settings } of await routines()) {
      if (definer) expect(settings, name).toContain('search_path=pg_catalog, taskq, pg_temp');
    }
  });

  test('that is kept from scanning is kept from being compiled: a scan without choice counts as 10 billion, and JIT begins', async () => {
    const compiled = (await routines()).filter(
      ({ settings }) => settings?.includes('enable_seqscan=off') && !settings.includes('jit=off'),
    );
    expect(compiled.map((routine) => routine.name)).toEqual([]);
  });

  test('may be called only by roles that were granted it', async () => {
    for (const { name, acl } of await routines()) expect(acl, name).not.toMatch(/[{,]=/);
    const byDefault = (await routines()).filter((routine) => routine.acl === null);
    expect(byDefault.map((routine) => routine.name)).toEqual([]);
  });

  test('asks for the time of the day, never for that of its transaction', async () => {
    const stale = (await routines()).filter(({ source }) =>
      /\b(now|transaction_timestamp|statement_timestamp)\s*\(\)|\bcurrent_(timestamp|date|time)\b/i.test(
        source,
      ),
    );
    expect(stale.map((routine) => routine.name)).toEqual([]);
  });

  test('stands alone under its name: a second signature would make calls ambiguous', async () => {
    const names = (await routines()).map((routine) => routine.name);
    expect(names).toEqual([...new Set(names)]);
  });
});

test('no table, sequence or view is open to everybody', async () => {
  const open = `
    select relname from pg_class
    where relnamespace = 'taskq'::regnamespace and array_to_string(relacl, ',') ~ '(^|,)='
    union all
    select nspname from pg_namespace where nspname = 'taskq' and array_to_string(nspacl, ',') ~ '(^|,)='`;
  expect(await queue.admin.rows(open)).toEqual([]);
});

/** What sql/ has besides: migrations, and what init writes. */
async function readOthers(): Promise<{ readonly name: string; readonly text: string }[]> {
  const files = ['migrations', 'templates'].map(async (directory) => {
    const names = await readdir(join(SQL, directory));
    return names.map(async (name) => ({ name, text: await readFile(join(SQL, directory, name), 'utf8') }));
  });
  return Promise.all((await Promise.all(files)).flat());
}

describe('sql/functions', () => {
  test('each file defines exactly the function or the view of its name, and opens with what it does', async () => {
    for (const { name, text } of await readFunctions()) {
      const defined = [...text.matchAll(/^create or replace (?:function|view) taskq\.(\w+)/gim)].map(
        (match) => match[1],
      );
      expect(defined, name).toEqual([name]);
      expect(text, name).toMatch(/^-- [A-Z].*\n/);
    }
  });

  test("no literal has a backslash, other than as an e'': standard_conforming_strings of the caller decides what it is", async () => {
    const additions = Object.values(await readAdditions()).flat();
    for (const { name, text } of [...(await readFunctions()), ...additions, ...(await readOthers())]) {
      const literals = text.match(/--.*|e?'(?:[^']|'')*'/gi) ?? [];
      expect(
        literals.filter((found) => found.startsWith("'") && found.includes('\\')),
        name,
      ).toEqual([]);
    }
  });

  test('each one that clients call is described in the database, and names the kinds of roles that call it', async () => {
    const stored = await queue.admin.rows<{ name: string; comment: string | null }>(
      `select proname as name, obj_description(oid, 'pg_proc') as comment
       from pg_proc where pronamespace = 'taskq'::regnamespace
       union all
       select relname, obj_description(oid, 'pg_class')
       from pg_class where relnamespace = 'taskq'::regnamespace and relkind = 'v'`,
    );
    const functions = await readFunctions();
    const internal = functions.filter(({ isPublic }) => !isPublic).map(({ name }) => name);
    for (const one of functions) {
      const { comment } = stored.find(({ name }) => name === one.name)!;
      expect(comment, one.name).toBe(commentOf(one));
      const isView = /^create or replace view /m.test(one.text);
      if (one.isPublic && !isView) expect(kindsIn(comment!), one.name).not.toEqual([]);
      // Who reads it in psql has no file of another function, and may not call those of internal/.
      const others = [...(comment ?? '').matchAll(/taskq\.(\w+)/g)].map((match) => match[1]);
      expect(
        internal.filter((name) => others.includes(name)),
        one.name,
      ).toEqual([]);
      const named = /^-- Granted to: (.*)\.$/m.exec(one.text)?.[1]?.split(', ') ?? [];
      expect(
        named.filter((kind) => !(KINDS as readonly string[]).includes(kind)),
        one.name,
      ).toEqual([]);
    }
  });

  test('what it defines is what the database has, and nothing else', async () => {
    const files = (await readFunctions()).map((file) => file.name).toSorted();
    const views = await queue.admin.rows<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'taskq'::regnamespace and relkind = 'v'",
    );
    const there = [...(await routines()), ...views].map((routine) => routine.name).toSorted();
    expect(there).toEqual([...files, ...OF_MIGRATIONS].toSorted());
  });

  test('sql/release.json was stamped after the last change', async () => {
    const release = await readRelease();
    const hash = await hashRelease();
    expect(release.functionsHash, 'stamp it: npm run build && node .ci/stamp-functions.mjs').toBe(hash);
    const stored = await queue.admin.row('select number, functions_hash, oldest_client from taskq.release');
    expect(stored).toEqual({
      number: release.number,
      functions_hash: hash,
      oldest_client: release.oldestClient,
    });
  });
});

// Debian has plpgsql_check for the system's server, the packaged one has not. In CI it must be there.
if (inject('systemBinDir') !== undefined) {
  test('plpgsql_check finds nothing in any function', async (context) => {
    const available = "select exists (select from pg_available_extensions where name = 'plpgsql_check')";
    if (!(await queue.admin.value<boolean>(available))) {
      if (process.env.CI) throw new Error('apt-get install postgresql-15-plpgsql-check');
      return context.skip('postgresql-15-plpgsql-check is not installed');
    }
    await queue.admin.rows('create extension plpgsql_check');
    // `options` and `extra` are there so that a signature never has to change, used or not.
    const found = await queue.admin.rows(
      `select p.proname, c.lineno, c.level, c.sqlstate, c.message, c.detail, c.hint
       from pg_proc p
       left join pg_trigger t on t.tgfoid = p.oid
       cross join lateral plpgsql_check_function_tb(
         p.oid, coalesce(t.tgrelid, 0), fatal_errors => false, extra_warnings => true, security_warnings => true
       ) as c
       where p.pronamespace = 'taskq'::regnamespace
         and p.prolang = (select oid from pg_language where lanname = 'plpgsql')
         and c.message not in ('unused parameter "options"', 'unmodified OUT variable "extra"')`,
    );
    await queue.admin.rows('drop extension plpgsql_check');
    expect(found).toEqual([]);
  });
}
