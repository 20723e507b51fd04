import { useCallback, useEffect, useState } from 'preact/hooks';
import { ApiProblem, get } from './api.ts';
import { useLive } from './app.ts';

/** The data of a path, and the result of reading it again. The old data stay when that fails. */
export interface Loaded<T> {
  readonly data: T | undefined;
  /** When `data` were read, in milliseconds. */
  readonly at: number | undefined;
  readonly problem: ApiProblem | undefined;
  /** Reads it again. */
  reload(): void;
}

const RETRY_MS = 5000;

/**
 * Reads a path of the API; null: nothing. Reads it again whenever there are new figures, and every five seconds after a
 * failure that may pass. Ends the request when the screen is left. `by`: read it again when this changes, not with the
 * figures.
 */
export function useLoad<T>(path: string | null, by?: unknown): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'> & { readonly path: string | null }>({
    ...{ path, data: undefined, at: undefined, problem: undefined },
  });
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((last) => last + 1), []);
  const { round: sample } = useLive();
  const trigger = by ?? sample;
  // A new sample or round reads the same path again.
  useEffect(() => {
    if (path === null) return;
    const controller = new AbortController();
    let retry: ReturnType<typeof setTimeout> | undefined;
    get<T>(path, controller.signal).then(
      (data) => setState({ path, data, at: Date.now(), problem: undefined }),
      (error: unknown) => {
        if (controller.signal.aborted) return;
        const problem = problemOf(error);
        setState((last) =>
          last.path === path ? { ...last, problem } : { path, data: undefined, at: undefined, problem },
        );
        if (mayPass(problem)) retry = setTimeout(reload, RETRY_MS);
      },
    );
    return () => {
      controller.abort();
      clearTimeout(retry);
    };
  }, [path, round, trigger]);
  const { path: of, ...loaded } = state;
  return of === path ? { ...loaded, reload } : { data: undefined, at: undefined, problem: undefined, reload };
}

/** Converts a thrown value to a problem. */
export function problemOf(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  return new ApiProblem(0, { code: 'bug', detail: `A fault of these pages: ${String(error)}` });
}

function mayPass({ status }: ApiProblem): boolean {
  return status === 0 || status >= 500;
}
