import { useState } from 'preact/hooks';
import { ExactNumber, stringifyJson } from '../lib/json.ts';
import { counted, visible } from '../lib/text.ts';
import { CopyButton } from './text.tsx';

/** A read-only view of JSON: parts can be collapsed, numbers are exact, and everything is rendered as text. */
export function JsonView({ value, what }: { readonly value: unknown; readonly what: string }) {
  const isNested = typeof value === 'object' && value !== null && !(value instanceof ExactNumber);
  return (
    <div class="json">
      {isNested && <CopyButton text={stringifyJson(value, '  ')} what={what} />}
      <Value value={value} depth={0} />
    </div>
  );
}

/** Parts this deep, or with more members, are closed at first. */
const OPEN_DEPTH = 3;
const OPEN_MEMBERS = 30;
/** The most members shown at a time, and the most characters of a text. */
const MEMBERS_AT_ONCE = 100;
const CHARACTERS_AT_ONCE = 2000;

interface ValueProps {
  readonly value: unknown;
  readonly depth: number;
  /** The name of the member that has the value. */
  readonly name?: string;
}

/** The value, with its name before it. */
function Value({ value, depth, name }: ValueProps) {
  if (typeof value === 'object' && value !== null && !(value instanceof ExactNumber))
    return <Nested value={value} depth={depth} name={name} />;
  return (
    <>
      <MemberName name={name} />
      <Plain value={value} />
    </>
  );
}

function MemberName({ name }: { readonly name: string | undefined }) {
  if (name === undefined) return null;
  return (
    <>
      <bdi class="key">{visible(name)}</bdi>:{' '}
    </>
  );
}

function Plain({ value }: { readonly value: unknown }) {
  if (value instanceof ExactNumber) return <span class="number">{value.text}</span>;
  if (typeof value === 'string') return <Text text={value} />;
  return <span class={typeof value}>{String(value)}</span>;
}

function Text({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(text.length <= CHARACTERS_AT_ONCE);
  const shown = isWhole ? text : text.slice(0, CHARACTERS_AT_ONCE);
  return (
    <>
      <bdi class="string">{visible(JSON.stringify(shown))}</bdi>
      {!isWhole && (
        <button type="button" class="quiet small" onClick={() => setWhole(true)}>
          all of {counted(text.length, 'character')}
        </button>
      )}
    </>
  );
}

interface NestedProps {
  readonly value: object;
  readonly depth: number;
  readonly name: string | undefined;
}

function Nested({ value, depth, name }: NestedProps) {
  const isList = Array.isArray(value);
  const members = Object.entries(value);
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH && members.length <= OPEN_MEMBERS);
  const [most, setMost] = useState(MEMBERS_AT_ONCE);
  if (members.length === 0)
    return (
      <span>
        <MemberName name={name} />
        {isList ? '[]' : '{}'}
      </span>
    );
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <MemberName name={name} />
        {isList ? `[${counted(members.length, 'item')}]` : `{${counted(members.length, 'member')}}`}
      </summary>
      {isOpen && (
        <ul>
          {members.slice(0, most).map(([of, member]) => (
            <li key={of}>
              <Value value={member} depth={depth + 1} name={of} />
            </li>
          ))}
          {members.length > most && (
            <li>
              <button type="button" class="quiet small" onClick={() => setMost(most + MEMBERS_AT_ONCE)}>
                {counted(members.length - most, 'more', 'more')}
              </button>
            </li>
          )}
        </ul>
      )}
    </details>
  );
}
