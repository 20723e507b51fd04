import type { TaskError } from '../../lib/task.ts';
import { visible } from '../../lib/text.ts';

/** An error: its message, and its stack on demand. */
export function ErrorView({ error }: { readonly error: TaskError }) {
  const { name, message, code, stack, cause } = error;
  return (
    <div class="error">
      <p>
        <strong>{visible(name)}</strong>: <bdi>{visible(message)}</bdi>{' '}
        {code != null && <code>{visible(code)}</code>}
      </p>
      {stack != null && (
        <details>
          <summary>Stack</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
          <pre tabIndex={0}>{visible(stack)}</pre>
        </details>
      )}
      {cause != null && (
        <details>
          <summary>Caused by {visible(cause.name)}</summary>
          <ErrorView error={cause} />
        </details>
      )}
    </div>
  );
}
