import type { Session } from '../queue/session.ts';

export interface PlanNode {
  readonly 'Node Type': string;
  readonly Operation?: string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** What a statement did, the statements of the functions it called included. */
export interface Explained<T> {
  readonly result: T;
  /** The tables that were read from end to end, without repetition. */
  readonly scanned: readonly string[];
  /** The inserts, each with what it inserts. */
  readonly inserts: readonly PlanNode[];
  /** Rows and pairs of rows that were read in vain. */
  readonly passed: number;
  /** Pages read, found in memory or not. */
  readonly pages: number;
  /** What the outermost statement took, in milliseconds. */
  readonly ms: number;
}

/** Prepares a session (of a superuser) to report its plans. */
export async function reportPlans(session: Session): Promise<void> {
  await session.client.query(`
    load 'auto_explain';
    set auto_explain.log_min_duration = 0;
    set auto_explain.log_nested_statements = on;
    set auto_explain.log_analyze = on;
    set auto_explain.log_buffers = on;
    set auto_explain.log_timing = off;
    set auto_explain.log_format = json;
    set client_min_messages = log;
  `);
}

/** Runs something in a session that reports its plans. */
export async function explained<T>(session: Session, run: () => Promise<T>): Promise<Explained<T>> {
  const plans: PlanNode[] = [];
  let ms = 0;
  const onNotice = ({ message }: { message?: string | undefined }) => {
    const [, duration, json] = /^duration: (\S+) ms {2}plan:\n([\s\S]*)$/.exec(message ?? '') ?? [];
    if (json === undefined) return;
    plans.push((JSON.parse(json) as { Plan: PlanNode }).Plan);
    ms = Number(duration);
  };
  session.client.on('notice', onNotice);
  try {
    const result = await run();
    const nodes = plans.flatMap(nodesOf);
    const scans = nodes.filter(isScan);
    return {
      result,
      scanned: [...new Set(scans.map((node) => node['Relation Name']!))].toSorted(),
      inserts: nodes.filter((node) => node.Operation === 'Insert'),
      passed: nodes.reduce((sum, node) => sum + passedBy(node), 0),
      // The outermost statement ends last, and what it counts includes the others.
      pages: pagesOf(plans.at(-1)),
      ms,
    };
  } finally {
    session.client.off('notice', onNotice);
  }
}

/** One that was planned and never begun read nothing. */
function isScan(node: PlanNode): boolean {
  return node['Node Type'] === 'Seq Scan' && node['Actual Loops'] !== 0;
}

function nodesOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

function pagesOf(node: PlanNode | undefined): number {
  return (node?.['Shared Hit Blocks'] ?? 0) + (node?.['Shared Read Blocks'] ?? 0);
}

/** What is removed is told as a mean of the loops. */
function passedBy(node: PlanNode): number {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0);
  return removed * (node['Actual Loops'] ?? 1);
}
