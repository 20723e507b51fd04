import { JsonText, stringifyJson } from './json.ts';

/** A setting of a queue, a type, a group or all tasks. */
export interface Setting {
  /** The member of the body that changes it. */
  readonly name: string;
  /** The member of the answer that has it; default: its name. */
  readonly column?: string;
  readonly label: string;
  /** The accepted values, or the effect. */
  readonly hint: string;
  readonly options?: readonly string[];
  /** What applies if it is not set. */
  readonly unset?: string;
}

const UNLIMITED = 2_147_483_647;

const ATTEMPTS_HINT = 'A whole number, or unlimited';
const DURATION = 'Such as 30s, 1h30m or 7d';
const RETENTION = 'Whole days such as 7d, ever or none';
const LIMIT = 'A whole number from 1';
const RATE = 'A number and a time, such as 100/1m';
const BURST = 'How many may start at once after a pause';
const CALLBACK = 'A type, or {"type": …, "queue": …, "payload": {…}}';

const maxAttempts = { name: 'maxAttempts', label: 'Attempts', hint: ATTEMPTS_HINT };
const timeout = { name: 'timeout', column: 'timeoutMs', label: 'Timeout', hint: DURATION, unset: 'none' };
const expires = { name: 'expires', column: 'expiresMs', label: 'Expiry', hint: DURATION, unset: 'none' };
const backoff = {
  name: 'backoff',
  label: 'Back-off',
  hint: 'Such as exponential,5s,factor=2,max=1h,jitter=0.2; or fixed, linear, quadratic',
};
const retention = { name: 'retention', label: 'Finished tasks are kept', hint: RETENTION };
const errorsRetention = { name: 'errorsRetention', label: 'Errors and logs are kept', hint: RETENTION };
const deadRetention = {
  ...{ name: 'deadRetention', label: 'Dead letters are kept', unset: 'ever' },
  hint: 'Whole days such as 90d, or ever',
};
const onFailure = {
  ...{ name: 'onFailure', label: 'A failure', options: ['retry', 'complete'], unset: 'retry' },
  hint: 'Whether a failed attempt is retried, or completes its task',
};

export const DEFAULT_SETTINGS: readonly Setting[] = [
  ...[maxAttempts, timeout, expires, backoff, retention, errorsRetention, deadRetention],
];

export const QUEUE_SETTINGS: readonly Setting[] = [
  { name: 'maxRunning', label: 'Running at once', hint: LIMIT, unset: 'no limit' },
  { name: 'rate', label: 'Rate', hint: RATE, unset: 'no limit' },
  { name: 'burst', label: 'Burst', hint: BURST, unset: 'a tenth of a second' },
  { name: 'groupLimit', label: 'Running at once, each group', hint: LIMIT, unset: 'no limit' },
  { name: 'groupRate', label: 'Rate of each group', hint: RATE, unset: 'no limit' },
  { name: 'groupBurst', label: 'Burst of each group', hint: BURST, unset: 'a tenth of a second' },
  {
    ...{ name: 'groupOrder', label: 'Order in a group', options: ['strict', 'relaxed'], unset: 'strict' },
    hint: 'Whether a task that waits for a retry keeps its slot',
  },
  {
    ...{ name: 'groupOnDead', label: 'A dead letter of a group', options: ['go-on', 'hold'] },
    ...{ unset: 'go-on', hint: 'Whether its group goes on, or stops until someone decides' },
  },
  {
    ...{ name: 'groupBy', label: 'Tasks without a group', options: ['type', 'none'], unset: 'none' },
    hint: 'Whether they join the group of their type',
  },
  ...DEFAULT_SETTINGS,
  onFailure,
  { name: 'maxLosses', label: 'Lost workers before a task dies', hint: ATTEMPTS_HINT, unset: '3' },
  {
    name: 'mayEnqueue',
    label: 'Handlers may enqueue into',
    hint: 'Queues with commas, or none',
    unset: 'any',
  },
  ...['Leases', 'Events'].map((what) => ({
    ...{ name: `record${what}`, label: `${what} are recorded`, options: ['on', 'off'], unset: 'off' },
    hint: what === 'Leases' ? 'In taskq.leases, for each claim' : 'In taskq.events, for each end',
  })),
];

export const TYPE_SETTINGS: readonly Setting[] = [
  {
    ...{ name: 'breaker', label: 'Breaker', unset: 'none' },
    hint: 'Failures in a time, such as 5/1m; or {"failures": 5, "within": "1m", "probeAfter": "30s"}',
  },
  ...[maxAttempts, timeout, expires, backoff, retention],
  { name: 'queue', label: 'Queue', hint: 'Of tasks that name none', unset: 'default' },
  { name: 'priority', label: 'Priority', hint: '0, the most urgent, to 9', unset: '2' },
  onFailure,
  {
    ...{ name: 'keepLog', label: 'Logs are kept', options: ['failed', 'always', 'none'], unset: 'failed' },
    hint: 'Of which attempts',
  },
  { name: 'onComplete', label: 'After it completes', hint: CALLBACK, unset: 'nothing' },
  { name: 'onDead', label: 'After it dies', hint: CALLBACK, unset: 'nothing' },
];

export const GROUP_SETTINGS: readonly Setting[] = [
  { name: 'limit', label: 'Running at once', hint: LIMIT, unset: 'no limit' },
  { name: 'rate', label: 'Rate', hint: RATE, unset: 'no limit' },
  { name: 'burst', label: 'Burst', hint: BURST, unset: 'a tenth of a second' },
];

/** The value of a setting as the form takes it; undefined: it is not set. */
export function settingText({ name, column = name }: Setting, value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (value === UNLIMITED) return 'unlimited';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (column.endsWith('Ms')) return shortDuration(Number(value));
  if (Array.isArray(value)) return value.join(',') || 'none';
  return typeof value === 'object' ? textOfObject(name, value) : String(value);
}

/** Converts typed text to the value for the API; null removes the setting. */
export function settingOf(text: string): unknown {
  if (text === '') return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  return text.startsWith('{') ? new JsonText(text) : text;
}

function textOfObject(name: string, value: object): string {
  const { kind, type, failures, ...of } = value as Readonly<Record<string, number | string>>;
  if (name === 'backoff')
    return [
      ...[
        kind,
        shortDuration(Number(of.base_ms)),
        ...(kind === 'exponential' ? [`factor=${of.factor}`] : []),
      ],
      ...[`max=${shortDuration(Number(of.max_ms))}`, `jitter=${of.jitter}`],
    ].join();
  if (name === 'breaker') {
    const within = shortDuration(Number(of.within_ms));
    if (of.probe_after_ms === 30_000) return `${failures}/${within}`;
    const probeAfter = typeof of.probe_after_ms === 'number' ? shortDuration(of.probe_after_ms) : 'none';
    return stringifyJson({ failures, within, probeAfter });
  }
  return Object.keys(of).length === 0 && type !== undefined ? String(type) : stringifyJson(value);
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;

/** A duration as the API reads it: `1h30m`. */
export function shortDuration(ms: number): string {
  const parts = UNITS.map(([unit, size], place) => {
    const amount = Math.floor((place === 0 ? ms : ms % UNITS[place - 1]![1]) / size);
    return amount === 0 ? '' : `${amount}${unit}`;
  });
  return parts.join('') || '0s';
}
