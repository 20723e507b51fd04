import { checkedName } from '../../../domain/names.ts';
import { normaliseWorkflowOptions, type WorkflowOptions } from '../../../domain/workflow/workflow-options.ts';
import { badOption } from '../../../lib/bad-option.ts';
import type { CliCommand } from '../../run/command.ts';

interface OpenOptions {
  readonly failFast?: true;
  readonly maxDead?: string;
  readonly onStep?: string;
  readonly onFailing?: string;
  readonly onEnd?: string;
  readonly allowUnknown?: true;
}

/** `taskq workflow open`: start a workflow without steps. */
export const workflowOpen: CliCommand<OpenOptions> = {
  declare(command) {
    command
      .argument('<name>', 'its name; several workflows may have the same')
      .option('--fail-fast', 'more than --max-dead deaths cancel all steps that have not ended')
      .option('--max-dead <n>', 'how many deaths it tolerates (0)')
      .option('--on-step <type>', 'enqueue a task of this type whenever a step has ended, one at a time')
      .option('--on-failing <type>', 'enqueue a task of this type when more than --max-dead steps have died')
      .option('--on-end <type>', 'enqueue a task of this type when it has ended')
      .option('--allow-unknown', 'accept types without a known handler')
      .addHelpText('after', ABOUT);
  },
  async run(context, { args, options: { allowUnknown, maxDead, failFast, onStep, onFailing, onEnd } }) {
    const name = checkedName('workflow', args[0]!);
    const given = { failFast, onStep, onFailing, onEnd, maxDead: maxDead && numberOf(maxDead) };
    const options = normaliseWorkflowOptions(given, flagOf);
    const { lookUpAll, typeLookUp } = await import('../../enqueue/known-types.ts');
    const { runWorkflow } = await import('../../../queue/protocol/run-workflow.ts');
    const lookUp = await typeLookUp(context, allowUnknown ? 'allowed' : 'refused');
    await lookUpAll([onStep, onFailing, onEnd], lookUp);
    const db = await context.database();
    const workflow = { name, options: { ...options, open: true }, steps: [] };
    const { id } = await runWorkflow(db, workflow, { allowUnknown: true });
    await context.output.answer({ id }, () => id);
  },
};

function numberOf(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw badOption(`--max-dead ${JSON.stringify(text)}: expected a whole number from 0`);
}

function flagOf(option: keyof WorkflowOptions): string {
  return `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

const ABOUT = `
Prints its id. It ends once taskq workflow close has closed it and all of its steps have ended.

Examples:
  id=$(taskq workflow open import --on-end report)
  taskq enqueue fetch '{"shop":7}' --workflow $id --step fetch
  taskq enqueue parse --workflow $id --step parse --after fetch
  taskq workflow close $id`;
