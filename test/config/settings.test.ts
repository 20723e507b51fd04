import { expect, expectTypeOf, test } from 'vitest';
import { defineConfig } from '../../src/config/define-config.ts';
import { describeSettings } from '../../src/config/describe-config.ts';
import { type Config, type ConfigInput, SETTING_FIELDS, settingOf } from '../../src/config/settings.ts';

test('no two settings share a key, a variable or a flag', () => {
  const settings = SETTING_FIELDS.map(settingOf);
  const names = settings.flatMap(({ key, env, flag }) => [key, ...env, ...(flag === null ? [] : [flag])]);
  expect(new Set(names).size).toBe(names.length);
});

test('a flag is its key in dashes, a variable its key in capitals', () => {
  for (const { key, env, flag } of SETTING_FIELDS.map(settingOf)) {
    const dashed = key.replaceAll(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
    if (flag !== null) expect(flag).toBe(`--${dashed}`);
    if (env.length > 0) expect(env[0]).toBe(`TASKQ_${dashed.replaceAll('-', '_').toUpperCase()}`);
  }
});

test('every default is a value that the setting takes, written as it is shown', () => {
  for (const { default: initial, parse, show } of SETTING_FIELDS.map(settingOf)) {
    if (initial !== null) expect(parse(show(initial as NonNullable<unknown>))).toEqual(initial);
  }
});

test('the reference says for each setting what it is called, what it is and what it does', () => {
  expect(describeSettings()).toContainEqual({
    key: 'lease',
    env: 'TASKQ_LEASE',
    flag: '--lease',
    default: '30s',
    help: 'how long a claimed task is held without a heartbeat',
  });
  expect(describeSettings().every(({ help }) => help !== '')).toBe(true);
});

test('the types follow the table', () => {
  expectTypeOf<Config['leaseMs']>().toEqualTypeOf<number>();
  expectTypeOf<Config['databaseUrl']>().toEqualTypeOf<string | null>();
  expectTypeOf<Config['batch']>().toEqualTypeOf<number | 'auto'>();
  expectTypeOf<Config['database']>().toEqualTypeOf<'embedded' | null>();
  expectTypeOf<Config['handlers']>().toEqualTypeOf<string>();
  expectTypeOf<Config['logLevel']>().toEqualTypeOf<'debug' | 'info' | 'warn' | 'error'>();
  expectTypeOf<ConfigInput['lease']>().toEqualTypeOf<string | number | undefined>();
  expectTypeOf<ConfigInput['queues']>().toEqualTypeOf<string | readonly string[] | undefined>();
  // @ts-expect-error: a typing mistake in a configuration file is one for the compiler too.
  expect(defineConfig({ concurency: 5 })).toEqual({ concurency: 5 });
  defineConfig({ lease: '30s', taskTypes: { 'send-email': { maxAttempts: 'unlimited', timeout: '5s' } } });
});
