import { stringifyExact } from '../../lib/exact-json.ts';
import { printable } from './printable.ts';

/** A share as a percentage, any other number as it is; a value that someone has put in by hand as JSON. */
export function progressText(progress: unknown): string {
  if (progress === null || progress === undefined) return '';
  const { value, text } = Object(progress) as Partial<Readonly<Record<string, unknown>>>;
  if (typeof value !== 'number') return printable(stringifyExact(progress));
  const measure = value >= 0 && value <= 1 ? `${Math.floor(value * 100)} %` : String(value);
  return typeof text === 'string' && text !== '' ? `${measure}  ${printable(text)}` : measure;
}
