import type { Callback } from '../../domain/callback.ts';
import type { SetSetting } from '../../queue/inspect/get-type.ts';
import type { Screen } from '../run/output.ts';
import { attemptsText, backoffText, breakerText, durationText } from './settings-text.ts';
import { formatTable } from './table.ts';

/** A table of settings with their sources; empty when there are none. */
export function formatSettings(settings: Readonly<Record<string, SetSetting>>, screen: Screen): string {
  const rows = Object.entries(settings);
  if (rows.length === 0) return '';
  return formatTable<(typeof rows)[number]>(
    [
      { title: 'SETTING', cell: ([name]) => name.replace(/_ms$/, '').replaceAll('_', '-') },
      { title: 'VALUE', cell: ([name, { value }]) => valueText(name, value) },
      {
        title: 'SET BY',
        cell: ([, { from, worker }]) => worker ?? (from === 'operator' ? 'an operator' : from),
        shrinksTo: 8,
      },
    ],
    rows,
    screen,
  );
}

function valueText(name: string, value: unknown): string {
  if (value === null) return '-';
  if (name === 'max_attempts') return attemptsText(value as number);
  if (name === 'breaker') return breakerText(value as Record<string, unknown>);
  if (name === 'on_complete' || name === 'on_dead') return (value as Callback).type;
  if (name === 'backoff') return backoffText(value as Record<string, unknown>);
  return name.endsWith('_ms') ? durationText(value as number) : String(value);
}
