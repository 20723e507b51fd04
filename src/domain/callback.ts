import { badOption } from '../lib/bad-option.ts';
import { isJsonObject } from '../lib/json.ts';
import { didYouMean } from '../lib/nearest.ts';
import { shown } from '../lib/shown.ts';
import { checkedName } from './names.ts';
import { storedPayload } from './payload.ts';

/** A task that is enqueued with the end of another one. */
export interface Callback {
  readonly type: string;
  /** Default: that of its type, or else `default`. */
  readonly queue?: string;
  /** An object of at most 64 KB; `task`, the task that has ended, is added to it. */
  readonly payload?: object;
}

/** Parses a type, or an object that has one. Throws TaskqError `bad_option`. */
export function parseCallback(input: unknown, what: string): Callback {
  if (typeof input === 'string') return { type: checkedName('type', input, what) };
  if (!isJsonObject(input))
    throw badOption(`${what} ${shown(input)}: expected a type, or an object with one`);
  const unknown = Object.keys(input).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined)
    throw badOption(`${what}: unknown option ${shown(unknown)}${didYouMean(unknown, MEMBERS)}`);
  const { type, queue, payload } = input;
  return {
    type: checkedName('type', type, `${what}.type`),
    ...(queue !== undefined && queue !== null && { queue: checkedName('queue', queue, `${what}.queue`) }),
    ...(payload !== undefined && payload !== null && { payload: payloadOf(payload, `${what}.payload`) }),
  };
}

const MEMBERS = ['type', 'queue', 'payload'];
const MAX_PAYLOAD_BYTES = 65_536;

function payloadOf(payload: unknown, what: string): object {
  const { text, value } = storedPayload(what, payload);
  if (!isJsonObject(value)) throw badOption(`${what} ${shown(payload)}: expected an object`);
  if (Buffer.byteLength(text) <= MAX_PAYLOAD_BYTES) return value;
  throw badOption(`${what}: larger than 64 KB; store the data elsewhere and pass a reference to it`);
}
