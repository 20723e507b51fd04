import { parseDuration } from '../../../lib/duration.ts';
import { EXIT } from '../../../lib/errors.ts';
import type { CliCommand } from '../../run/command.ts';

interface RunOptions {
  /** True: wait without a time limit. */
  readonly wait?: string | true;
  readonly allowUnknown?: true;
}

/** `taskq workflow run`: start a workflow from a file. */
export const workflowRun: CliCommand<RunOptions> = {
  declare(command) {
    command
      .argument('<file>', 'JSON file of the workflow; - reads it from stdin')
      .option(
        '--wait [duration]',
        'wait until the workflow has ended (at most this long), and print its state',
      )
      .option('--allow-unknown', 'accept types without a known handler')
      .addHelpText('after', ABOUT);
  },
  async run(context, { args, options }) {
    const { wait } = options;
    const limitMs = typeof wait === 'string' ? parseDuration(wait, '--wait') : Number.POSITIVE_INFINITY;
    const { lookUpAll, typeLookUp } = await import('../../enqueue/known-types.ts');
    const { readWorkflow } = await import('../../enqueue/read-workflow.ts');
    const { runWorkflow } = await import('../../../queue/protocol/run-workflow.ts');
    const lookUp = await typeLookUp(context, options.allowUnknown ? 'allowed' : 'refused');
    const workflow = await readWorkflow(args[0]!, lookUp);
    const db = await context.database();
    // The types of the steps were checked already.
    const { on_step, on_failing, on_end } = workflow.options;
    await lookUpAll([on_step?.type, on_failing?.type, on_end?.type], lookUp);
    const started = await runWorkflow(db, workflow, { allowUnknown: true });
    const { firstOf, noteWaits } = await import('../../select/note-waits.ts');
    const tasks = firstOf(Object.values(started.steps));
    if (wait === undefined) {
      // Not `steps`: in `workflow wait`, that name has counts.
      await context.output.answer({ id: started.id, tasks: started.steps }, () => started.id);
      await noteWaits(context, tasks, 'enqueued');
      return EXIT.done;
    }
    context.output.talk(`workflow ${started.id} has started`);
    await noteWaits(context, tasks, 'awaited');
    const { waitForWorkflow } = await import('../../workflow/wait-for-workflow.ts');
    return waitForWorkflow(context, started.id, limitMs);
  },
};

const ABOUT = `
Prints the id of the workflow; --json also has the ids of its tasks, by step. All of it is stored, or nothing.
With --wait, prints how it ended instead. Exit codes then: 0 completed; 1 failed or cancelled; 4 not ended in time.

The file:
  {"name": "import", "steps": [
    {"step": "fetch", "type": "fetch", "payload": {"shop": 7}},
    {"step": "parse", "type": "parse", "after": ["fetch"]},
    {"step": "report", "type": "report", "after": ["parse", {"step": "fetch", "onDeath": "continue"}]}
  ]}

A step has the options of enqueue (queue, priority, delay, key, maxAttempts, …) and
  after      steps that must end first: names, or {"step", "onDeath"}
  onDeath    what to do if one of them is dead, cancelled or expired: cancel this step (default), continue, or wait
             until that one is revived
The workflow may have
  open       true: taskq enqueue --workflow <id> can add steps until taskq workflow close
  maxDead    how many deaths it tolerates (0)
  failFast   true: more deaths than that cancel all steps that have not ended
  onStep, onFailing, onEnd
             a task to enqueue after each step, at more than maxDead deaths, at the end: a type, or {type, queue, payload}

Examples:
  taskq workflow run import.json --wait=10m
  jq … | taskq workflow run - --json`;
