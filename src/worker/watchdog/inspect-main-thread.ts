import { type Debugger, type Runtime, Session } from 'node:inspector';
import { CURRENT_LEASE } from './show-current-lease.ts';

/** What the main thread is busy with. */
export interface Busy {
  /** The lease (as `leaseKey` writes it) of the attempt whose code runs; null: the code belongs to no attempt. */
  readonly lease: string | null;
  /** Its position, as in the stack of an error. */
  readonly stack: string;
}

/**
 * Ask the main thread, from another thread, what it is busy with, through the debugger, which interrupts even an
 * endless loop. The main thread continues afterwards. Undefined: it did not answer within `limitMs`, for example in a
 * system call that does not return, or it cannot be asked.
 */
export async function inspectMainThread(limitMs: number): Promise<Busy | undefined> {
  const session = new Session();
  try {
    session.connectToMainThread();
    return await ask(session, limitMs);
  } catch {
    return undefined;
  } finally {
    session.disconnect();
  }
}

function ask(session: Session, limitMs: number): Promise<Busy | undefined> {
  return new Promise<Busy | undefined>((resolve) => {
    setTimeout(resolve, limitMs, undefined);
    const urls = new Map<string, string>();
    session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url));
    session.once('Debugger.paused', ({ params }) => {
      const stack = stackOf(params.callFrames, urls);
      session.post('Runtime.evaluate', { expression: QUESTION, returnByValue: true }, (_, answer) =>
        resolve({ lease: leaseIn(answer), stack }),
      );
    });
    session.post('Debugger.enable');
    session.post('Debugger.pause');
  }).finally(() => session.post('Debugger.disable'));
}

const HERE = new URL('..', import.meta.url).href;

const QUESTION = `globalThis[Symbol.for(${JSON.stringify(CURRENT_LEASE.description)})]?.() ?? null`;

function leaseIn(answer: Runtime.EvaluateReturnType | undefined): string | null {
  const value: unknown = answer?.result.value;
  return typeof value === 'string' ? value : null;
}

function stackOf(frames: readonly Debugger.CallFrame[], urls: ReadonlyMap<string, string>): string {
  return frames
    .map((frame) => ({ ...frame, url: urls.get(frame.location.scriptId) ?? '' }))
    .filter(({ url }) => url !== '' && !url.startsWith('node:') && !url.startsWith(HERE))
    .map(({ functionName, url, location }) => {
      const at = `${url}:${location.lineNumber + 1}:${(location.columnNumber ?? 0) + 1}`;
      return functionName === '' ? `    at ${at}` : `    at ${functionName} (${at})`;
    })
    .join('\n');
}
