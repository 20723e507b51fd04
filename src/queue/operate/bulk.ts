export interface BulkAnswer {
  readonly id: string;
  readonly answer: string;
}

/** The outcome of an action on many tasks. */
export interface BulkResult<Answer extends BulkAnswer> {
  /** The number of tasks by answer. */
  readonly counts: Readonly<Record<string, number>>;
  /** The answers that need attention, at most the first thousand. */
  readonly answers: readonly Answer[];
}

export interface BulkOptions<Answer> {
  /** Abort it to begin no further page. */
  readonly signal?: AbortSignal | undefined;
  /** Whether an answer needs attention; by default none does. */
  readonly keeps?: ((answer: Answer) => boolean) | undefined;
  /** Called after each page with the number of tasks answered so far. */
  readonly onPage?: (done: number) => void;
}

/** Keep at most this many answers of a bulk for people to read. */
const MAX_KEPT = 1000;

/**
 * Act on tasks a page at a time, each page in its own transaction, without a lock across pages: finished pages stay
 * committed if a later one fails.
 */
export async function actInPages<Task, Answer extends BulkAnswer>(
  pages: AsyncIterable<readonly Task[]>,
  act: (page: readonly Task[]) => Promise<readonly Answer[]>,
  { signal, keeps = () => false, onPage }: BulkOptions<Answer> = {},
): Promise<BulkResult<Answer>> {
  const counts: Record<string, number> = {};
  const answers: Answer[] = [];
  let done = 0;
  for await (const page of pages) {
    if (signal?.aborted) break;
    for (const answer of await act(page)) {
      counts[answer.answer] = (counts[answer.answer] ?? 0) + 1;
      if (keeps(answer) && answers.length < MAX_KEPT) answers.push(answer);
    }
    done += page.length;
    onPage?.(done);
  }
  return { counts, answers };
}
