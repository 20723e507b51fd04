import { expect } from 'vitest';
import type { Block } from './documents.ts';
import { runOnTerminal, type Sandbox } from './sandbox.ts';

interface Step {
  readonly command: string;
  /** What it printed when it was written down; `…` alone is any number of lines, within a line any text. */
  readonly expected: readonly string[];
}

/**
 * Types the commands of a transcript at a terminal and compares what they print with what it says. Times, ages, rates
 * and the names of processes are not compared, nor how wide a column is. A command that fails must show so: by
 * `$ echo $?` behind it.
 */
export async function checkTranscript(sandbox: Sandbox, block: Block): Promise<void> {
  const steps = stepsOf(block);
  const lines = steps.flatMap(({ command }, n) => [`mark ${n}`, command]);
  await sandbox.write('.transcript', [MARK, ...lines, `mark ${steps.length}`].join('\n'));
  const { output } = await runOnTerminal(sandbox, '.transcript');
  const parts = output.replaceAll('\r', '').split(/@@ (\d+) (\d+)\n/);
  // ['', '0', its code before, what it printed, '1', …]
  for (const [n, { command, expected }] of steps.entries()) {
    const printed = parts[3 * n + 3];
    if (printed === undefined) throw new Error(`${block.at}: "${command}" was not reached:\n${output}`);
    expect(plain(printed, sandbox), `${block.at}: what "${command}" prints`).toMatch(patternOf(expected));
    const shows = steps[n + 1]?.command === 'echo $?';
    if (!shows) expect(parts[3 * n + 5], `${block.at}: exit code of "${command}":\n${printed}`).toBe('0');
  }
}

const MARK = `mark() { local code=$?; printf '@@ %s %s\\n' "$1" "$code"; return $code; }`;

function stepsOf({ text, at }: Block): Step[] {
  const steps: { command: string; expected: string[] }[] = [];
  for (const line of text.split('\n')) {
    const last = steps.at(-1);
    if (line.startsWith('$ ')) steps.push({ command: line.slice(2), expected: [] });
    else if (last === undefined) throw new Error(`${at}: a transcript begins with "$ "`);
    else if (line.startsWith('> ') && last.expected.length === 0) last.command += `\n${line.slice(2)}`;
    else last.expected.push(line);
  }
  return steps;
}

function patternOf(expected: readonly string[]): RegExp {
  const lines = expected.map((line) =>
    line.trim() === '…' ? '(?:.*\n)*?' : `${neutral(line).split('…').map(escaped).join('.*')}\n`,
  );
  return new RegExp(`^${lines.join('')}$`);
}

function plain(printed: string, { directory }: Sandbox): string {
  return printed.replaceAll(directory, PROJECT).split('\n').map(neutral).join('\n');
}

/** How the documents call the directory they are in. */
const PROJECT = '/srv/shop';

/** Without what differs from run to run. */
function neutral(line: string): string {
  return REPLACEMENTS.reduce((text, [from, to]) => text.replaceAll(from, to), line).trimEnd();
}

const DURATION = String.raw`(?:\d+(?:\.\d+)?(?:ms|[smhd]))+`;
const REPLACEMENTS: readonly [RegExp, string][] = [
  [/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)?/g, '<time>'],
  [/\[\d\d:\d\d:\d\d\]/g, '[<time>]'],
  [new RegExp(`\\b${DURATION} ago\\b|\\bnow\\b`, 'g'), '<ago>'],
  [new RegExp(`\\b(due in|again in|took) +${DURATION}\\b`, 'g'), '$1 <duration>'],
  [/\b(?:\d+[dhm])*\d+(?:\.\d+)?m?s\b/g, '<duration>'],
  [/\b[\w.-]+:\d+:[0-9a-f]{8}\b/g, '<worker>'],
  [/ \(\d+\):/g, ' (<pid>):'],
  [/\b(pid|process) \d+\b/g, '$1 <pid>'],
  [/\bworker_id \d+\b/g, 'worker_id <id>'],
  [/[\d,]+ tasks\/s/g, '<rate> tasks/s'],
  [/ {2,}/g, ' '],
];

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
