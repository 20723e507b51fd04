import { useState } from 'preact/hooks';
import { useNow } from '../lib/app.ts';
import { count, duration, relative, visible } from '../lib/text.ts';

/** Text written by others: isolated whatever its direction, with invisible characters shown. */
export function Name({ text }: { readonly text: string }) {
  return <bdi class="name">{text === '' ? <span class="muted">(empty)</span> : visible(text)}</bdi>;
}

/** A count, or that it is not known. */
export function Count({ of }: { readonly of: number | undefined }) {
  return of === undefined ? <span class="muted">–</span> : count(of);
}

const MOST_NAMES = 3;

/** The first of some names, and how many more there are. */
export function Names({ of, none = '–' }: { readonly of: readonly string[] | null; readonly none?: string }) {
  if (of === null || of.length === 0) return <span class="muted">{none}</span>;
  return (
    <>
      {of.slice(0, MOST_NAMES).map((name, place) => (
        <>
          {place > 0 && ', '}
          <Name text={name} />
        </>
      ))}
      {of.length > MOST_NAMES && ` and ${of.length - MOST_NAMES} more`}
    </>
  );
}

/** A relative time, with the exact time on hover. */
export function Time({ at }: { readonly at: string | null | undefined }) {
  const now = useNow(10_000);
  if (at == null) return <span class="muted">–</span>;
  const date = new Date(at);
  return (
    <time dateTime={at} title={exact(date)}>
      {relative(date, now)}
    </time>
  );
}

/** A time to the second, where a relative one is too vague. */
export function ExactTime({ at }: { readonly at: string }) {
  return <time dateTime={at}>{exact(new Date(at))}</time>;
}

const EXACT = new Intl.DateTimeFormat('sv-SE', {
  ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' },
});

function exact(at: Date): string {
  return Number.isNaN(at.getTime()) ? '–' : EXACT.format(at);
}

export function Duration({ ms }: { readonly ms: number | null | undefined }) {
  if (ms == null) return <span class="muted">–</span>;
  return <span title={`${ms} ms`}>{duration(ms)}</span>;
}

/** A command to copy, for tasks that these pages cannot do. */
export function Command({ text }: { readonly text: string }) {
  return (
    <span class="command">
      <code>{text}</code>
      <CopyButton text={text} what="the command" />
    </span>
  );
}

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text).catch(() => {});
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <button type="button" class="quiet small" aria-label={`Copy ${what}`} onClick={copy}>
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  );
}
