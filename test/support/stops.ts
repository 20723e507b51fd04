import type pg from 'pg';
import { readFunctions } from '../../src/queue/schema/schema-release.ts';

/** What a claim that attends to workflows runs. */
export const ATTENDING = [
  ...['attend_workflows', 'advance_workflows', 'take_workflow_asks', 'fold_workflow_asks', 'meet_edges'],
  ...['release_steps', 'release_tasks', 'cancel_below', 'cancel_steps', 'cancel_waiting', 'cancel_stopping'],
  ...['move_to_finished', 'note_steps', 'leave', 'ask_steps', 'end_lost_steps', 'conclude_workflows'],
  ...['enqueue_callbacks', 'enqueue_on_step', 'claim'],
];

/**
 * Puts stops into the SQL functions that attend to workflows: each statement of a claim that does so calls
 * `witness.stop(place)` before it starts. A place is `release_steps 3`: before the third statement of that function. The
 * setting `witness.worker` says whose claim it is.
 */
export async function addStops(client: pg.Client): Promise<void> {
  await client.query(`
    create function witness.stop_attending(_place text) returns void language plpgsql as $$
    begin
      if _place like 'attend\\_workflows %' then
        perform set_config('witness.attends', 'yes', true);
      elsif current_setting('witness.attends', true) is distinct from 'yes' then
        return;
      end if;
      perform witness.stop(_place);
    end $$`);
  const functions = new Map((await readFunctions()).map(({ name, text }) => [name, text]));
  for (const name of ATTENDING) await client.query(withStops(name, functions.get(name)!));
}

/** The text of a PL/pgSQL function that calls for a stop before each of its statements. */
function withStops(name: string, text: string): string {
  let places = 0;
  let at: Place | 'before the body' = 'before the body';
  const lines = text.split('\n').flatMap((line) => {
    const code = line.trim();
    if (at === 'before the body') {
      if (code === 'begin') at = 'start';
      return [line];
    }
    if (code === '' || code.startsWith('--')) return [line];
    const stops = at === 'start' && !/^(end|else|elsif|exception|when)\b/.test(code);
    at = placeAfter(code, at);
    if (!stops) return [line];
    const note =
      name === 'claim' && places === 0 ? ["perform set_config('witness.worker', _worker::text, true);"] : [];
    return [...note, `perform witness.stop_attending('${name} ${++places}');`, line];
  });
  return lines.join('\n');
}

/** Where the next line is: at the start of a statement, within one, or within the head of a block. */
type Place = 'start' | 'statement' | 'head';

function placeAfter(code: string, at: Place): Place {
  const isHead =
    at === 'head' || (at === 'start' && /^(if|elsif|when|exception|for|foreach|while)\b/.test(code));
  if (isHead) return /\b(then|loop|exception)$/.test(code) ? 'start' : 'head';
  const opensBlock = at === 'start' && /^(begin|else|loop)$/.test(code);
  return opensBlock || code.endsWith(';') ? 'start' : 'statement';
}
