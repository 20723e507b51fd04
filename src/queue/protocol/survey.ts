import type { Queryable } from '../../lib/database.ts';

/** What a worker must know before it claims. */
export interface Survey {
  /** The queues that have a live task, by name; null: not requested. */
  readonly queues: readonly string[] | null;
  readonly typeTimeouts: Readonly<Record<string, number>>;
  readonly queueTimeouts: Readonly<Record<string, number>>;
  /** Null: an attempt has no time limit. */
  readonly timeoutMs: number | null;
  /** The types that keep the log of every attempt. */
  readonly alwaysLogged: readonly string[];
  /** When the breakers of types open, by type. */
  readonly breakers: Readonly<Record<string, BreakerLimit>>;
}

/** A breaker opens after this many failures within this time. */
export interface BreakerLimit {
  readonly failures: number;
  readonly within_ms: number;
}

/** The document that `taskq.survey` returns. */
export interface SurveyDocument {
  readonly queues: string[] | null;
  readonly type_timeouts: Record<string, number>;
  readonly queue_timeouts: Record<string, number>;
  readonly timeout_ms: number | null;
  readonly always_logged: string[];
  readonly breakers: Record<string, BreakerLimit>;
}

export interface SurveyOptions {
  /** False: return only the timeouts. */
  readonly queues?: false;
}

/** Read which queues have tasks and which timeouts apply. */
export async function survey(
  db: Queryable,
  types: readonly string[],
  options: SurveyOptions = {},
): Promise<Survey> {
  const rows = await db.query<{ survey: SurveyDocument }>({
    name: 'taskq_survey',
    text: 'select taskq.survey($1, $2) as survey',
    values: [types, JSON.stringify(options)],
  });
  return surveyOf(rows[0]!.survey);
}

export function surveyOf(found: SurveyDocument): Survey {
  return {
    queues: found.queues,
    typeTimeouts: found.type_timeouts,
    queueTimeouts: found.queue_timeouts,
    timeoutMs: found.timeout_ms,
    alwaysLogged: found.always_logged,
    breakers: found.breakers,
  };
}
