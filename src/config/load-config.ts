import { dirname, resolve } from 'node:path';
import { normaliseBackoff } from '../domain/backoff.ts';
import { parseRetention } from '../domain/retention.ts';
import { formatDuration } from '../lib/duration.ts';
import { TaskqError } from '../lib/errors.ts';
import { didYouMean } from '../lib/nearest.ts';
import { type ConfigFile, findConfigFile } from './find-config-file.ts';
import type { SettingSource } from './setting.ts';
import { type Config, SETTING_FIELDS, type SettingField, settingOf } from './settings.ts';
import { checkQueueSettings, checkSchedules, checkTaskTypes } from './task-settings.ts';

export interface ConfigSources {
  readonly cwd: string;
  /** `--config`: the file to read instead of searching for one. */
  readonly configPath?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** By key, as commander names them (`--database-url` is `databaseUrl`); other keys are ignored. */
  readonly flags: Readonly<Record<string, unknown>>;
}

export interface LoadedConfig {
  readonly values: Config;
  readonly sources: Readonly<Record<SettingField, SettingSource>>;
  /** The configuration file that was read; null if there is none. */
  readonly file: string | null;
}

/**
 * Collects every setting: defaults, then the file, then the environment (an empty variable counts as not set), then
 * flags. Makes `handlers` absolute. Throws TaskqError `bad_config` or `bad_setting`, which names the setting, where its
 * value comes from and what was expected.
 */
export async function loadConfig(from: ConfigSources): Promise<LoadedConfig> {
  const file = await findConfigFile(from);
  if (file !== null) checkKeys(file);
  const found = SETTING_FIELDS.map((field) => [field, find(field, from, file)] as const);
  const values = Object.fromEntries(found.map(([field, { value }]) => [field, value]));
  const sources = Object.fromEntries(found.map(([field, { source }]) => [field, source]));
  const loaded = { values, sources, file: file?.path ?? null } as unknown as LoadedConfig;
  checkValues(loaded);
  return withDerived(loaded, from.cwd);
}

interface Found {
  readonly value: unknown;
  readonly source: SettingSource;
}

function find(field: SettingField, from: ConfigSources, file: ConfigFile | null): Found {
  const setting = settingOf(field);
  const given = givenFor(field, from, file);
  if (given === null) return { value: setting.default, source: 'default' };
  const value = setting.parse(given.value);
  if (value !== undefined) return { value, source: given.source };
  throw bad(field, given.source, `expected ${setting.expects}, got ${shown(given.value)}`);
}

/** Returns the value with the highest precedence; null if none is set. */
function givenFor(field: SettingField, from: ConfigSources, file: ConfigFile | null): Found | null {
  const { key, flag, env } = settingOf(field);
  const value = flag === null ? undefined : from.flags[key];
  if (flag !== null && value !== undefined) return { value, source: `flag ${flag}` };
  const name = env.find((variable) => (from.env[variable] ?? '').trim() !== '');
  if (name !== undefined) return { value: from.env[name], source: `environment ${name}` };
  const content = (file?.content ?? {}) as Record<string, unknown>;
  if (file === null || content[key] === undefined || content[key] === null) return null;
  return { value: content[key], source: `file ${file.path}` };
}

function checkKeys({ path, content }: ConfigFile): void {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw badFile(`${path}: expected an object with settings, got ${shown(content)}`);
  }
  const keys = SETTING_FIELDS.map((field) => settingOf(field).key);
  const unknown = Object.keys(content).find((key) => !keys.includes(key));
  if (unknown !== undefined)
    throw badFile(`${path}: unknown setting "${unknown}"${didYouMean(unknown, keys)}`);
}

/** Checks values that depend on other settings or on the domain's rules. */
function checkValues(loaded: LoadedConfig): void {
  const { backoff, retention, taskTypes, queueSettings, schedules, leaseMs, heartbeatMs } = loaded.values;
  if (backoff !== null) attributed(loaded, 'backoff', () => normaliseBackoff(backoff));
  if (retention !== null) attributed(loaded, 'retention', () => parseRetention(retention));
  if (taskTypes !== null) attributed(loaded, 'taskTypes', () => checkTaskTypes(taskTypes));
  if (queueSettings !== null) {
    attributed(loaded, 'queueSettings', () => checkQueueSettings(queueSettings));
  }
  if (schedules !== null) attributed(loaded, 'schedules', () => checkSchedules(schedules));
  if (loaded.sources.heartbeatMs !== 'default' && heartbeatMs > leaseMs / 3) {
    const third = `a third of the lease, which is ${formatDuration(leaseMs)} (${loaded.sources.leaseMs})`;
    throw bad('heartbeatMs', loaded.sources.heartbeatMs, `expected at most ${third}`);
  }
}

function attributed(loaded: LoadedConfig, field: SettingField, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    throw error instanceof TaskqError ? bad(field, loaded.sources[field], error.message) : error;
  }
}

function withDerived(loaded: LoadedConfig, cwd: string): LoadedConfig {
  const { values, sources, file } = loaded;
  const isOurs = sources.heartbeatMs === 'default';
  const heartbeatMs = isOurs ? Math.floor(values.leaseMs / 3) : values.heartbeatMs;
  const isBesideFile = sources.handlers === 'default' || sources.handlers.startsWith('file ');
  const handlers = resolve(file !== null && isBesideFile ? dirname(file) : cwd, values.handlers);
  return { values: { ...values, heartbeatMs, handlers }, sources, file };
}

/** Names only the kind of an object or list: it may contain a password. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' || typeof value === 'function')
    return value === null ? 'null' : typeof value === 'object' ? 'an object' : 'a function';
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : String(value);
}

function bad(field: SettingField, source: SettingSource, problem: string): TaskqError {
  const message = `${settingOf(field).key} (${source}): ${problem}`;
  return new TaskqError('bad_setting', message);
}

function badFile(message: string): TaskqError {
  return new TaskqError('bad_config', message);
}
