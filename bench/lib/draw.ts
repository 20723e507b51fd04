import type { Note, Notes } from './notes.ts';
import { median } from './statistics.ts';

const WIDTH = 760;
const LEFT = 190;
const BAR = 18;
const GAP = 6;
/** Readable on white and on black. */
const COLOURS = { taskq: '#2f81f7', floor: '#8b949e', other: '#b08800', text: '#7d8590' } as const;

/** Draw how fast each system drains, relative to graphile-worker with one process. Undefined: that was not measured. */
export function draw(notes: Notes): string | undefined {
  const unit = notes.median('drain', '1 process', 'graphile-worker');
  if (unit === undefined) return undefined;
  const drained = notes
    .of('drain')
    .filter(({ what, unit: of }) => of === 'tasks/s' && /^\d process(es)?$/.test(what));
  const most = Math.max(...drained.map((note) => median(note.values)! / unit));
  const parts: string[] = [];
  let y = 44;
  for (const what of new Set(drained.map((note) => note.what))) {
    parts.push(text({ x: 8, y: y + 13, weight: 600 }, what));
    y += 24;
    for (const note of drained.filter((one) => one.what === what)) {
      parts.push(bar(note, y, median(note.values)! / unit, (WIDTH - LEFT - 70) / most));
      y += BAR + GAP;
    }
    y += 10;
  }
  const title =
    'Tasks per second that do nothing, as a multiple of graphile-worker at its best with one process';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}" role="img" aria-label="${title}" font-family="system-ui, sans-serif" font-size="12">
${text({ x: 8, y: 20, weight: 400 }, title)}
${parts.join('\n')}
</svg>
`;
}

function bar({ who }: Note, y: number, ratio: number, scale: number): string {
  const kind = who.startsWith('taskq') ? 'taskq' : who.startsWith('floor') ? 'floor' : 'other';
  const width = Math.max(1, ratio * scale).toFixed(1);
  return [
    text({ x: 20, y: y + 13, weight: 400 }, who),
    `<rect x="${LEFT}" y="${y}" width="${width}" height="${BAR}" rx="3" fill="${COLOURS[kind]}"/>`,
    text({ x: LEFT + Number(width) + 6, y: y + 13, weight: 400 }, `${ratio.toFixed(ratio < 1 ? 2 : 1)} ×`),
  ].join('\n');
}

function text({ x, y, weight }: { x: number; y: number; weight: number }, content: string): string {
  return `<text x="${x}" y="${y}" font-weight="${weight}" fill="${COLOURS.text}">${content}</text>`;
}
