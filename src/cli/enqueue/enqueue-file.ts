import { badOption } from '../../lib/bad-option.ts';
import { countOf, withCommas } from '../../lib/count.ts';
import { EXIT, TaskqError } from '../../lib/errors.ts';
import { startProgress } from '../present/progress.ts';
import type { Context } from '../run/context.ts';
import { reportError } from '../run/report-error.ts';
import { noteWaits } from '../select/note-waits.ts';
import { itemChecker } from './check-item.ts';
import { inputItems } from './input-items.ts';
import { insertSpooled, type RefusedLine } from './insert-spooled.ts';
import { typeLookUp } from './known-types.ts';
import { openInput } from './open-input.ts';
import { Spool } from './spool.ts';
import { optionsOfFlags, type TaskOptions } from './task-options.ts';

export interface FileOfTasks {
  readonly type: string | undefined;
  /** A path, or `-` for stdin. */
  readonly file: string;
  readonly options: TaskOptions & {
    readonly envelope?: true;
    readonly skipBad?: true;
    readonly allowUnknown?: true;
  };
}

/**
 * Enqueue a task for every item of a file. Reads and checks the whole file first: if an item is bad, enqueues nothing,
 * unless `skipBad` is set. Returns the exit code.
 */
export async function enqueueFile(context: Context, source: FileOfTasks): Promise<number> {
  const spool = await Spool.open();
  try {
    const skipped = await checkAll(context, source, spool);
    const named: RefusedLine[] = [];
    const ids: string[] = [];
    const counts = await insertSpooled(context, spool, {
      onRefused: (refusal) => void (named.length < MAX_NAMED && named.push(refusal)),
      onCreated: (ends) => void ids.push(...ends),
    });
    const { created, existing, replaced, again, refused } = counts;
    for (const refusal of named) reportError(keyOfAnother(source.file, refusal), context.output);
    await context.output.answer({ created, existing, skipped, replaced, again, refused }, () =>
      [
        `enqueued ${countOf(created, 'task')}`,
        replaced > 0 && `replaced ${withCommas(replaced)}`,
        again > 0 && `left ${withCommas(again)} to run after running ones`,
        existing > 0 && `skipped ${withCommas(existing)} whose key is held`,
        refused > 0 && `refused ${withCommas(refused)} whose key is held by a task of another type or group`,
        skipped > 0 && `skipped ${countOf(skipped, 'bad item')}`,
      ]
        .filter((part) => part !== false)
        .join(', '),
    );
    const sample = [...new Set([ids[0], ids.at(-1)])].filter((id) => id !== undefined);
    await noteWaits(context, { sample, hasMore: created > sample.length }, 'enqueued');
    return refused > 0 ? EXIT.failed : EXIT.done;
  } finally {
    await spool.close();
  }
}

function keyOfAnother(file: string, { line, holder, type, group }: RefusedLine): TaskqError {
  const kind = `type ${JSON.stringify(type)}${group === null ? '' : ` and group ${JSON.stringify(group)}`}`;
  const problem = `its key is held by task ${holder} of ${kind}, which it cannot replace`;
  return new TaskqError('key_of_another', `${nameOf(file)}: line ${line}: ${problem}`);
}

/** What the options say that apply to the keys of lines. */
const OF_KEYS = { '--key-for': 'keyFor', '--on-held': 'onHeld' } as const;

/** Name at most this many bad items, and count the rest. */
const MAX_NAMED = 20;

/** Put every good item into the spool. Returns how many bad ones it left out. */
async function checkAll(context: Context, source: FileOfTasks, spool: Spool): Promise<number> {
  const { type, file, options } = source;
  const flags = optionsOfFlags(options, 'in lines');
  const ofKeys = (['--key-for', '--on-held'] as const).find((flag) => flags[OF_KEYS[flag]] !== undefined);
  if (ofKeys !== undefined && !options.envelope)
    throw badOption(`${ofKeys} needs --envelope: a line that is a payload has no key`);
  const input = await openInput(file);
  // Connect first: a failure after a million lines would waste the reading.
  await context.database();
  const lookUp = await typeLookUp(context, options.allowUnknown ? 'allowed' : 'refused');
  // Look up the type before the first line: most lines will have it.
  if (type !== undefined) await lookUp(type);
  const check = itemChecker({ type, form: options.envelope ? 'envelope' : 'payload', flags, lookUp });
  const progress = await startProgress(context.output, `reading ${nameOf(file)}`);
  let bad = 0;
  let isEnvelope = false;
  let haveKeys = false;
  const named: string[] = [];
  try {
    for await (const items of inputItems(input, file)) {
      for (const item of items) {
        const answer = check(item);
        const checked = answer instanceof Promise ? await answer : answer;
        if ('task' in checked) {
          haveKeys ||= checked.task.options?.key !== undefined;
          spool.add(checked.task, item.line);
        } else {
          bad += 1;
          if (bad > MAX_NAMED) continue;
          named.push(checked.problem);
          isEnvelope ||= !options.envelope && hasPayload(item.text);
        }
      }
      await spool.write();
      progress.update(`reading ${nameOf(file)}: ${countOf(spool.count, 'task')}`);
    }
  } finally {
    progress.end();
  }
  // Report only now: the spinner had the line.
  if (bad > MAX_NAMED) named.push(`and ${withCommas(bad - MAX_NAMED)} more`);
  for (const problem of named) {
    reportError(new TaskqError('bad_item', `${nameOf(file)}: ${problem}`), context.output);
  }
  if (bad > 0 && !options.skipBad) throw badItems(source, bad, spool.count, isEnvelope);
  if (ofKeys !== undefined && spool.count > 0 && !haveKeys)
    throw badOption(`${ofKeys} needs a key: no line of ${nameOf(file)} has one`);
  return bad;
}

/** Whether this may be a task with its options, of a file that needs --envelope. */
function hasPayload(text: string | null): boolean {
  try {
    return Object.hasOwn(Object(JSON.parse(text ?? 'null')), 'payload');
  } catch {
    return false;
  }
}

function badItems(
  { file, options }: FileOfTasks,
  bad: number,
  good: number,
  isEnvelope: boolean,
): TaskqError {
  const item = options.envelope ? 'object such as {"payload": …}' : 'payload';
  return new TaskqError(
    'bad_items',
    `${nameOf(file)}: ${withCommas(bad)} of ${countOf(bad + good, 'item')} ${bad === 1 ? 'is' : 'are'} bad; nothing was enqueued`,
    {
      hint: isEnvelope
        ? 'add --envelope if the items have their payload in "payload", beside options'
        : `correct them, or add --skip-bad; a file is a JSON array or has one JSON ${item} per line`,
    },
  );
}

function nameOf(file: string): string {
  return file === '-' ? 'stdin' : file;
}
