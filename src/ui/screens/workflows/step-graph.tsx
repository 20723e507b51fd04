import { useMemo, useRef, useState } from 'preact/hooks';
import { type DagLayout, layersOf, layOut, NODE, type PlacedNode } from '../../lib/dag.ts';
import { hrefTo } from '../../lib/place.ts';
import { count, visible } from '../../lib/text.ts';
import { type Step, statusCounts } from '../../lib/workflow.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { Status, shapeOf, toneOf } from '../../parts/status.tsx';

/** Above these, a drawing would show nothing but lines. */
const MOST_STEPS = 500;
const MOST_EDGES = 3000;

/** Draws the steps and their edges, or counts steps by layer where there are too many to draw. */
export function StepGraph({ steps }: { readonly steps: readonly Step[] }) {
  const nodes = steps.map(({ step, parents }) => ({
    id: step,
    parents: parents.map((parent) => parent.step),
  }));
  const edges = nodes.reduce((sum, { parents }) => sum + parents.length, 0);
  // Recompute the graph only when its steps or edges change.
  const shape = JSON.stringify(nodes.map(({ id, parents }) => [id, parents]));
  const isDrawn = steps.length <= MOST_STEPS && edges <= MOST_EDGES;
  const layout = useMemo(() => (isDrawn ? layOut(nodes) : undefined), [shape]);
  const layers = useMemo(() => (isDrawn ? [] : layersOf(nodes)), [shape]);
  if (steps.length === 0) return null;
  const byName = new Map(steps.map((step) => [step.step, step]));
  if (layout !== undefined) return <Drawing layout={layout} steps={byName} />;
  return <Layers of={layers.map((names) => names.map((name) => byName.get(name)!))} />;
}

function Layers({ of }: { readonly of: readonly (readonly Step[])[] }) {
  const rows = of.map((steps, layer) => ({ layer, steps }));
  return (
    <DataTable
      caption="Layers: each waits for those above it. There are too many steps to draw."
      rows={rows}
      keyOf={({ layer }) => String(layer)}
      columns={[
        { title: 'Layer', cell: ({ layer }) => layer + 1 },
        { title: 'Steps', align: 'end', cell: ({ steps }) => count(steps.length) },
        {
          title: 'Status',
          cell: ({ steps }) => (
            <ul class="counts">
              {statusCounts(steps).map(([status, many]) => (
                <li key={status}>
                  {count(many)} <Status name={status} />
                </li>
              ))}
            </ul>
          ),
        },
      ]}
    />
  );
}

const SCALES = [0.4, 0.55, 0.75, 1, 1.3] as const;
const USUAL_SCALE = 3;

interface DrawingProps {
  readonly layout: DagLayout;
  readonly steps: ReadonlyMap<string, Step>;
}

function Drawing({ layout, steps }: DrawingProps) {
  const [scale, setScale] = useState(USUAL_SCALE);
  const [current, setCurrent] = useState<string>();
  const drawing = useRef<SVGSVGElement>(null);
  const { layers, edges, width, height } = layout;
  const first = layers[0]![0]!.id;
  const reached = current !== undefined && steps.has(current) ? current : first;
  const move = (event: KeyboardEvent, node: PlacedNode) => {
    const next = neighbourOf(layout, node, event.key);
    if (next === undefined) return;
    event.preventDefault();
    drawing.current?.querySelectorAll('a')[layers.flat().indexOf(next)]?.focus();
  };
  return (
    <figure class="graph">
      <div class="heading">
        <figcaption class="muted">
          Each step waits for those on its left. Arrow keys go from step to step.
        </figcaption>
        <div class="buttons">
          <button
            type="button"
            class="small"
            aria-label="Smaller"
            disabled={scale === 0}
            onClick={() => setScale(scale - 1)}
          >
            −
          </button>
          <button
            type="button"
            class="small"
            aria-label="Larger"
            disabled={scale === SCALES.length - 1}
            onClick={() => setScale(scale + 1)}
          >
            +
          </button>
        </div>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section aria-label="Graph of the steps" tabIndex={0}>
        <svg
          ref={drawing}
          width={width * SCALES[scale]!}
          height={height * SCALES[scale]!}
          viewBox={`0 0 ${width} ${height}`}
          role="presentation"
        >
          <path class="edges" d={edges.map(([from, to]) => curve(from, to)).join('')} />
          {layers.flat().map((node) => (
            <Node
              key={node.id}
              node={node}
              step={steps.get(node.id)!}
              isReached={node.id === reached}
              onFocus={() => setCurrent(node.id)}
              onKeyDown={(event) => move(event, node)}
            />
          ))}
        </svg>
      </section>
    </figure>
  );
}

interface NodeProps {
  readonly node: PlacedNode;
  readonly step: Step;
  /** Tab leads to this node; arrow keys lead on from there. */
  readonly isReached: boolean;
  onFocus(): void;
  onKeyDown(event: KeyboardEvent): void;
}

function Node({ node: { x, y }, step: { step, status, taskId }, isReached, ...events }: NodeProps) {
  const name = visible(step);
  return (
    <a
      href={hrefTo('task', [taskId])}
      class={`status node ${toneOf(status)}`}
      tabIndex={isReached ? 0 : -1}
      {...events}
    >
      <title>{`${name}, ${status}`}</title>
      {/* Clips text that is too long. */}
      <svg {...{ x, y, ...NODE }} aria-hidden="true">
        <rect x="1" y="1" width={NODE.width - 2} height={NODE.height - 2} rx="6" />
        <text x="10" y="18" class="step">
          {name}
        </text>
        <svg x="9" y="24" width="13" height="13" viewBox="0 0 16 16" aria-hidden="true">
          {shapeOf(status)}
        </svg>
        <text x="27" y="35" class="state">
          {status}
        </text>
      </svg>
    </a>
  );
}

/** The node to which an arrow key leads. */
function neighbourOf(
  { layers, edges }: DagLayout,
  { id, layer, place }: PlacedNode,
  key: string,
): PlacedNode | undefined {
  if (key === 'ArrowLeft') return edges.find(([, to]) => to.id === id)?.[0];
  if (key === 'ArrowRight') return edges.find(([from]) => from.id === id)?.[1];
  if (key === 'ArrowUp') return layers[layer]![place - 1];
  return key === 'ArrowDown' ? layers[layer]![place + 1] : undefined;
}

function curve(from: PlacedNode, to: PlacedNode): string {
  const [x, y] = [from.x + NODE.width, from.y + NODE.height / 2];
  const [endX, endY] = [to.x, to.y + NODE.height / 2];
  const bend = Math.min(60, (endX - x) / 2);
  return `M${x} ${y}C${x + bend} ${y} ${endX - bend} ${endY} ${endX} ${endY}`;
}
