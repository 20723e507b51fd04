import { checkedName } from '../../domain/names.ts';
import { storablePayload } from '../../domain/payload.ts';
import { normaliseWorkflowOptions } from '../../domain/workflow/workflow-options.ts';
import { badOption } from '../../lib/bad-option.ts';
import { EXIT, TaskqError } from '../../lib/errors.ts';
import { isJsonObject, parseJson } from '../../lib/json.ts';
import { shown } from '../../lib/shown.ts';
import type { NewTask } from '../../queue/protocol/enqueue.ts';
import { newTask } from '../../queue/protocol/new-task.ts';
import type { NewWorkflow } from '../../queue/protocol/run-workflow.ts';
import { type LookUpType, withKnownCallbacks } from './known-types.ts';
import { elementTexts, memberText } from './member-text.ts';
import { openInput } from './open-input.ts';
import { mergedOptions } from './task-options.ts';
import { utf8Text } from './utf8-text.ts';

/**
 * Read the workflow of a file, or of stdin for `-`, with the text of its payloads unchanged. Throws TaskqError (exit 2)
 * that names the file and the step.
 */
export async function readWorkflow(path: string, lookUp: LookUpType): Promise<NewWorkflow> {
  const source = path === '-' ? 'stdin' : path;
  const text = await textOf(path, source);
  return naming(source, () => workflowOf(text, lookUp));
}

async function workflowOf(text: string, lookUp: LookUpType): Promise<NewWorkflow> {
  const value = parseJson(text);
  if (!isJsonObject(value)) throw badOption('expected a workflow such as {"name": "import", "steps": […]}');
  const { name, steps: given, ...options } = value;
  if (name === undefined) throw badOption('the workflow has no "name"');
  const workflow = {
    name: checkedName('workflow', name, 'name'),
    options: normaliseWorkflowOptions(options),
  };
  if (given === undefined || given === null) return { ...workflow, steps: [] };
  if (!Array.isArray(given)) throw badOption(`steps ${shown(given)}: expected an array`);
  const texts = elementTexts(memberText(text, 'steps')!);
  const steps: NewTask[] = [];
  for (const [nth, step] of given.entries()) steps.push(await stepOf(step, texts[nth]!, nth + 1, lookUp));
  return { ...workflow, steps };
}

async function textOf(path: string, source: string): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of await openInput(path)) chunks.push(chunk);
  return utf8Text(chunks, source);
}

async function stepOf(value: unknown, text: string, number: number, lookUp: LookUpType): Promise<NewTask> {
  const what =
    isJsonObject(value) && typeof value.step === 'string' ? `step ${shown(value.step)}` : `step ${number}`;
  return naming(what, async () => {
    if (!isJsonObject(value)) throw badOption('expected an object such as {"step": "a", "type": "resize"}');
    const { type: named, payload = {}, ...options } = value;
    if (named === undefined) throw badOption('it has no "type"');
    if (options.step === undefined) throw badOption('it has no name, "step"');
    const type = await lookUp(checkedName('type', named));
    const stored = storablePayload(type.name, { text: memberText(text, 'payload') ?? '{}', value: payload });
    const task = await newTask(type.name, stored, mergedOptions(type.defaults, options), type.schema);
    return withKnownCallbacks(task, lookUp);
  });
}

/** Read a part of the input: an error of the input begins with the name of the part. */
async function naming<T>(what: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof TaskqError && error.exitCode === EXIT.usage)
      error.message = `${what}: ${error.message}`;
    throw error;
  }
}
