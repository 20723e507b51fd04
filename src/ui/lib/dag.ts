/** A step and the steps that it waits for. */
export interface DagNode {
  readonly id: string;
  readonly parents: readonly string[];
}

export interface PlacedNode {
  readonly id: string;
  /** One more than that of its deepest parent; the first is 0. */
  readonly layer: number;
  /** Its place within the layer, from 0 on. */
  readonly place: number;
  readonly x: number;
  readonly y: number;
}

export interface DagLayout {
  readonly layers: readonly (readonly PlacedNode[])[];
  readonly edges: readonly (readonly [from: PlacedNode, to: PlacedNode])[];
  readonly width: number;
  readonly height: number;
}

export const NODE = { width: 170, height: 44 } as const;
const GAP = { x: 56, y: 12 } as const;
const MARGIN = 12;
/** Short columns stand in the middle, but not so low that a window shows nothing of them. */
const MOST_CENTRED = 180;
/** The order hardly gets better after this many passes in both directions. */
const PASSES = 4;

/** Groups the ids by their layer: each is behind all of its parents. Parents that are not among the nodes do not count. */
export function layersOf(nodes: readonly DagNode[]): string[][] {
  const parents = new Map(nodes.map((node) => [node.id, node.parents]));
  const known = new Map<string, number>();
  const layers: string[][] = [];
  const layerOf = (id: string): number => {
    // A cycle, which no workflow has, would end here.
    if (!known.has(id)) known.set(id, 0).set(id, Math.max(-1, ...parentsIn(parents, id).map(layerOf)) + 1);
    return known.get(id)!;
  };
  for (const { id } of nodes) {
    const layer = layerOf(id);
    while (layers.length <= layer) layers.push([]);
    layers[layer]!.push(id);
  }
  return layers;
}

/** Places the nodes in columns, the first on the left, each column in an order in which few edges cross. */
export function layOut(nodes: readonly DagNode[]): DagLayout {
  const parents = new Map(nodes.map((node) => [node.id, node.parents]));
  const layers = ordered(layersOf(nodes), parents);
  const most = Math.max(0, ...layers.map(({ length }) => length));
  const heightOf = (length: number) => length * (NODE.height + GAP.y) - GAP.y;
  const height = heightOf(most);
  const placed = layers.map((ids, layer) =>
    ids.map((id, place) => ({
      ...{ id, layer, place },
      x: MARGIN + layer * (NODE.width + GAP.x),
      y: MARGIN + Math.min((height - heightOf(ids.length)) / 2, MOST_CENTRED) + place * (NODE.height + GAP.y),
    })),
  );
  const byId = new Map(placed.flat().map((node) => [node.id, node]));
  return {
    layers: placed,
    edges: [...byId.values()].flatMap((node) =>
      parentsIn(parents, node.id).map((parent) => [byId.get(parent)!, node] as const),
    ),
    width: 2 * MARGIN + Math.max(0, placed.length * (NODE.width + GAP.x) - GAP.x),
    height: 2 * MARGIN + Math.max(0, height),
  };
}

type Parents = ReadonlyMap<string, readonly string[]>;

function parentsIn(parents: Parents, id: string): readonly string[] {
  return parents.get(id)!.filter((parent) => parents.has(parent));
}

/** Moves each node towards the middle of its neighbours, forwards and backwards in turns. */
function ordered(layers: readonly (readonly string[])[], parents: Parents): readonly (readonly string[])[] {
  const children = new Map<string, string[]>([...parents.keys()].map((id) => [id, []]));
  for (const id of parents.keys())
    for (const parent of parentsIn(parents, id)) children.get(parent)!.push(id);
  const result = layers.map((ids) => [...ids]);
  const places = new Map<string, number>();
  const settle = (ids: readonly string[]) => {
    // As a share of the layer: neighbours may be in layers of other sizes.
    for (const [place, id] of ids.entries()) places.set(id, (place + 0.5) / ids.length);
  };
  result.forEach(settle);
  for (let pass = 0; pass < PASSES; pass += 1) {
    for (const ids of result) sort(ids, (id) => parentsIn(parents, id), places, settle);
    for (const ids of result.toReversed()) sort(ids, (id) => children.get(id)!, places, settle);
  }
  return result;
}

function sort(
  ids: string[],
  neighboursOf: (id: string) => readonly string[],
  places: ReadonlyMap<string, number>,
  settle: (ids: readonly string[]) => void,
): void {
  const middles = new Map(ids.map((id) => [id, middle(neighboursOf(id), places) ?? places.get(id)!]));
  // A stable sort: equal nodes keep their order.
  ids.sort((one, other) => middles.get(one)! - middles.get(other)!);
  settle(ids);
}

function middle(ids: readonly string[], places: ReadonlyMap<string, number>): number | undefined {
  if (ids.length === 0) return undefined;
  return ids.reduce((sum, id) => sum + places.get(id)!, 0) / ids.length;
}
