import { useId, useState } from 'preact/hooks';
import { useApp, useParams } from '../lib/app.ts';
import { hrefOf } from '../lib/place.ts';
import { visible } from '../lib/text.ts';

export interface Filter {
  /** The parameter of the URL. */
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
  /** One of these; the parameter is absent for the first, which is `all`. */
  readonly options?: readonly string[];
}

interface FiltersProps {
  readonly of: readonly Filter[];
  /** Parameters that links set, by name, with their labels: they can only be removed. */
  readonly linked?: Readonly<Record<string, string>>;
}

/** A form of filters that are kept in the URL: Enter applies them, each can be removed, and Back returns. */
export function Filters({ of, linked = {} }: FiltersProps) {
  const { place } = useApp();
  const [params, change] = useParams();
  const id = useId();
  const apply = (form: HTMLFormElement) => {
    const given = new FormData(form);
    change(Object.fromEntries(of.map(({ name }) => [name, String(given.get(name) ?? '').trim()])));
  };
  // Where the window is narrow, the fields are shown on request.
  const [isOpen, setOpen] = useState(false);
  const isFiltered = [...of.map(({ name }) => name), ...Object.keys(linked)].some((name) => params.has(name));
  const without = (name: string, value: string) =>
    change({ [name]: params.getAll(name).filter((one) => one !== value) });
  // A field shows one value.
  const unshown = [...params].filter(
    ([name, value]) => name in linked || (of.some((one) => one.name === name) && value !== params.get(name)),
  );
  return (
    <search class={`filters ${isOpen ? '' : 'closed'}`}>
      <button type="button" class="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Filters{isFiltered && ' (on)'}
      </button>
      <form
        // Shows the values of the URL after each change of it.
        key={params.toString()}
        onSubmit={(event) => {
          event.preventDefault();
          apply(event.currentTarget);
        }}
      >
        {of.map(({ name, label, placeholder, options }) => (
          <div class="field" key={name}>
            <label for={`${id}${name}`}>{label}</label>
            {options === undefined ? (
              <input
                {...{ id: `${id}${name}`, name, placeholder }}
                autocomplete="off"
                spellcheck={false}
                defaultValue={visible(params.get(name) ?? '')}
              />
            ) : (
              <select
                {...{ id: `${id}${name}`, name }}
                onChange={({ currentTarget }) => apply(currentTarget.form!)}
              >
                {['', ...options].map((option) => (
                  <option key={option} value={option} selected={option === (params.get(name) ?? '')}>
                    {option || 'all'}
                  </option>
                ))}
              </select>
            )}
          </div>
        ))}
        <div class="buttons">
          <button type="submit">Filter</button>
          {isFiltered && <a href={hrefOf({ ...place, params: new URLSearchParams() })}>Clear</a>}
        </div>
      </form>
      {unshown.length > 0 && (
        <ul class="chips">
          {unshown.map(([name, value]) => (
            <li key={`${name} ${value}`}>
              {linked[name] ?? of.find((one) => one.name === name)?.label} <b>{visible(value)}</b>
              <button type="button" class="quiet" onClick={() => without(name, value)}>
                <span aria-hidden="true">×</span>
                <span class="unseen">Remove</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </search>
  );
}
