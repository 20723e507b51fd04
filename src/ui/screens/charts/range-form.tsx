import { useId } from 'preact/hooks';

interface RangeFormProps {
  readonly from: string;
  readonly until: string;
  open(from: Date, until: Date): void;
}

/** A form for a range, the keyboard's equivalent of drawing over a chart. */
export function RangeForm({ from, until, open }: RangeFormProps) {
  const id = useId();
  return (
    <form
      class="range"
      onSubmit={(event) => {
        event.preventDefault();
        const given = new FormData(event.currentTarget);
        open(new Date(String(given.get('from'))), new Date(String(given.get('until'))));
      }}
    >
      {(['from', 'until'] as const).map((name) => (
        <div class="field" key={name}>
          <label for={`${id}${name}`}>Ended {name}</label>
          <input
            {...{ id: `${id}${name}`, name }}
            type="datetime-local"
            required
            defaultValue={localOf(name === 'from' ? from : until)}
          />
        </div>
      ))}
      <button type="submit">Show tasks</button>
    </form>
  );
}

/** A time as such a field holds it: local, without an offset. */
function localOf(at: string): string {
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
