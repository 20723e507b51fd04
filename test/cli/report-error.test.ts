import { expect, test } from 'vitest';
import type { Output } from '../../src/cli/run/output.ts';
import { reportError } from '../../src/cli/run/report-error.ts';
import { TaskqError } from '../../src/lib/errors.ts';

/** What is printed of an error, as text and as JSON. */
function printed(error: unknown): string {
  const lines: string[] = [];
  for (const format of ['text', 'json'] as const) {
    const paint = { red: (text: string) => text };
    reportError(error, { format, paint, complain: (line: string) => lines.push(line) } as unknown as Output);
  }
  return lines.join('\n');
}

test.each([
  ['postgres://ann:secret@host/db', 'postgres://ann:***@host/db'],
  ['postgres://ann:sec@ret@host/db', 'postgres://ann:***@host/db'],
  ['postgresql://host/db?user=ann&password=secret', 'postgresql://host/db?user=ann&password=***'],
  ["host=h password='a secret' user=ann", 'host=h password=*** user=ann'],
])('no error shows the password of %s', (secretive, shown) => {
  const message = `cannot connect to ${secretive} now`;
  const errors = [new Error(message), new TaskqError('connection_failed', message, { hint: message })];
  for (const error of errors) {
    expect(printed(error)).not.toMatch(/secret|sec@ret/);
    expect(printed(error)).toContain(`cannot connect to ${shown} now`);
  }
});
