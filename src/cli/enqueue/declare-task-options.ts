import type { Command } from 'commander';
import { PRIORITY_NAMES } from '../../domain/priority.ts';
import type { Suggestions } from '../run/command.ts';
import { collect } from '../select/collect.ts';

export const TASK_SUGGESTIONS: Suggestions = {
  priority: [...'0123456789', ...Object.keys(PRIORITY_NAMES)],
  keyFor: ['live', '24h', 'ever'],
  onHeld: ['ignore', 'replace', 'preserve'],
  backoff: ['fixed,10m', 'exponential,5s,max=1h'],
  maxAttempts: ['unlimited'],
  retention: ['none', 'ever'],
};

/** Declare the options of a task, enqueued now or by a schedule. */
export function declareTaskOptions(command: Command): Command {
  return command
    .option('--queue <queue>', 'queue to put the task into (default)')
    .option('--priority <0-9>', '0 (most urgent) to 9, or critical, high, medium, low (2)')
    .option('--delay <duration>', 'wait this long first: 500ms, 30s, 10m, 2h, 7d')
    .option('--max-attempts <n|unlimited>', 'attempts before the task becomes a dead letter')
    .option('--timeout <duration>', 'time limit of an attempt')
    .option(
      '--backoff <kind,base,…>',
      'wait after a failed attempt: exponential,5s,factor=2,max=1h,jitter=0.2',
    )
    .option('--expires <duration>', 'do not start the task once it has been due for this long')
    .option('--group <group>', 'group of tasks that share a limit or run in order: see taskq queues set')
    .option('--key <key>', 'unique key: at most one task of the queue holds it at a time')
    .option(
      '--key-for <period>',
      'how long the key is held: live (until the task ends), a duration such as 3d, or ever',
    )
    .option(
      '--on-held <policy>',
      'if the key is held: ignore (default), replace the task that holds it, or preserve its time when replacing',
    )
    .option('--on-complete <type>', 'enqueue a task of this type when it completes')
    .option('--on-dead <type>', 'enqueue a task of this type when it becomes a dead letter')
    .option('--tag <name=value>', 'tag to find the task by; repeatable', collect)
    .option(
      '--retention <period>',
      'how long to keep the task after it has finished: none, 7d, ever; above 60 days, until the end of the month',
    );
}
