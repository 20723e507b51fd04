export interface BulkAnswer {
  readonly id: string;
  readonly answer: string;
}

/** What became of many tasks. */
export interface BulkResult<Answer extends BulkAnswer> {
  /** How many got which answer. */
  readonly counts: Readonly<Record<string, number>>;
  /** The answers that somebody has to look at, the first thousand of them. */
  readonly answers: readonly Answer[];
}

export interface BulkOptions<Answer> {
  /** Aborted, no further page is begun. */
  readonly signal?: AbortSignal | undefined;
  /** Whether somebody has to look at this answer; at none unless told. */
  readonly keeps?: ((answer: Answer) => boolean) | undefined;
  /** Told after each page how many tasks have their answer. */
  readonly onPage?: (done: number) => void;
}

/** At most so many answers are kept of a bulk, for the eye. */
const MAX_KEPT = 1000;

/**
 * Act on tasks a page at a time, each page in a transaction of its own, with no lock over a page: what is done stays
 * done, whatever becomes of the rest.
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
