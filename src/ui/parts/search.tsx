import { useRef, useState } from 'preact/hooks';
import { get, withQuery } from '../lib/api.ts';
import { go, hrefTo } from '../lib/place.ts';
import { useKeys } from '../lib/use-keys.ts';

/** Opens a task by its id or its key. */
export function Search() {
  const input = useRef<HTMLInputElement>(null);
  const [isBusy, setBusy] = useState(false);
  useKeys([{ keys: '/', text: 'search for an id or a key', run: () => input.current?.select() }]);
  const open = async (text: string) => {
    if (text === '' || isBusy) return;
    setBusy(true);
    go(await hrefOf(text));
    setBusy(false);
    input.current?.blur();
  };
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void open(input.current?.value.trim() ?? '');
        }}
      >
        <input
          ref={input}
          type="search"
          aria-label="Task id or key"
          placeholder="Task id or key  /"
          autocomplete="off"
          spellcheck={false}
          onKeyDown={({ key, currentTarget }) => key === 'Escape' && currentTarget.blur()}
        />
      </form>
    </search>
  );
}

/** A task of this id; else the one task of this key; else the list of those. */
async function hrefOf(text: string): Promise<string> {
  if (/^[1-9]\d{0,18}$/.test(text) && (await isTask(text))) return hrefTo('task', [text]);
  const byKey = hrefTo('tasks', [], { key: text });
  try {
    const { tasks } = await get<{ readonly tasks: readonly { readonly id: string }[] }>(
      withQuery('tasks', { key: text, limit: 2 }),
    );
    return tasks.length === 1 ? hrefTo('task', [tasks[0]!.id]) : byKey;
  } catch {
    return byKey;
  }
}

async function isTask(id: string): Promise<boolean> {
  return get(`tasks/${id}`).then(
    () => true,
    ({ status }) => status !== 404,
  );
}
