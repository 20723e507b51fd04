import type { ApiProblem } from '../lib/api.ts';
import { visible } from '../lib/text.ts';

const WHAT_TO_DO: Readonly<Record<string, string>> = {
  unreachable: 'The page tries again by itself. Is taskq serve running, and is the network up?',
  unavailable: 'The database does not answer the server. The page tries again by itself.',
  too_slow: 'The database took too long. Narrow the filter, or wait: the page tries again by itself.',
  busy: 'The server has too much to do. The page tries again by itself.',
  forbidden: 'Sign in with a token of a stronger role.',
  other_queue: 'Sign in with a token for all queues.',
  server_read_only: 'Start taskq serve with --write.',
  wrong_state: 'It has changed since: load it again.',
  not_found: 'It may have been deleted, or its retention is over.',
  bug: 'Please report it, with the lines that the server printed.',
};

/** Shows what went wrong, and what to do. */
export function ProblemView({ problem }: { readonly problem: ApiProblem }) {
  const { code, message, hint, nearest, errors } = problem;
  const advice = hint ?? WHAT_TO_DO[code];
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{visible(message)}</strong> <code>{code}</code>
      </p>
      {errors.length > 1 && (
        <ul>
          {errors.map(({ pointer, detail }) => (
            <li key={pointer}>
              <code>{visible(pointer)}</code> {visible(detail)}
            </li>
          ))}
        </ul>
      )}
      {nearest.length > 0 && <p>Did you mean {nearest.map(visible).join(' or ')}?</p>}
      {code === 'unauthorized' ? (
        <p>
          <a href="./">Sign in again</a>.
        </p>
      ) : (
        advice !== undefined && <p>{visible(advice)}</p>
      )}
    </div>
  );
}
