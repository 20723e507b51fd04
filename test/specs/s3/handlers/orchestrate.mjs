import { TaskQueue } from 'taskq';
import { sql } from '../../application.mjs';

const queue = new TaskQueue({ databaseUrl: process.env.DATABASE_URL });

/** What the agents do for an order, one after the other. */
const PLAN = [
  { step: 'validate', agent_name: 'OrderAgent', task_type: 'agent_task', priority: 0 },
  {
    step: 'fitment',
    agent_name: 'FitmentAgent',
    task_type: 'generate_fitment',
    priority: 0,
    max_attempts: 1,
  },
  { step: 'price', agent_name: 'PricingAgent', task_type: 'agent_task', priority: 2 },
];
const ENDED = ['completed', 'dead', 'cancelled', 'expired'];

/** Reads how far the workflow is, and adds what comes next, or closes it. It keeps nothing itself. */
export default async function orchestrate({ workflow }, ctx) {
  await dieAt('begun');
  const { steps } = await queue.workflows.show(workflow.id);
  await dieAt('read');
  if (steps.some(({ status }) => !ENDED.includes(status))) return;
  const last = steps.at(-1);
  const isDone = last?.step === 'escalate' || last?.step === PLAN.at(-1).step;
  if (isDone) {
    await dieAt('before close');
    await queue.workflows.close(workflow.id);
    await dieAt('closed');
    return;
  }
  const escalate = { step: 'escalate', agent_name: 'SupportAgent', task_type: 'agent_task' };
  const next = last?.status === 'dead' ? escalate : PLAN[steps.length];
  await createTask(ctx, { ...next, after: last === undefined ? [] : [last.step] });
  await dieAt('added');
  if (await isToDieAt('returned')) setImmediate(die);
}

/** The interface of the specification: the task is stored with the completion of this one. */
function createTask(ctx, { step, after, agent_name, task_type, priority, max_attempts }) {
  const options = {
    step,
    after,
    onDeath: 'continue',
    queue: agent_name,
    priority,
    maxAttempts: max_attempts,
  };
  return ctx.enqueue(task_type, { agent: agent_name }, options);
}

async function dieAt(point) {
  if (!(await isToDieAt(point))) return;
  die();
  await new Promise(() => {});
}

/** A test has it die at each point at most once. */
async function isToDieAt(point) {
  return (await sql('delete from app.kills where point = $1 returning point', point)).length > 0;
}

function die() {
  process.kill(process.pid, 'SIGKILL');
}
