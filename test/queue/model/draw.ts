/** One of these. */
export const pick = <Item>(items: readonly Item[], random: () => number): Item =>
  items[Math.floor(random() * items.length)]!;

/** Events of the same kind together. */
export function byKind<Item>(events: readonly Item[], kindOf: (event: Item) => string): Map<string, Item[]> {
  const kinds = new Map<string, Item[]>();
  for (const event of events) {
    const alike = kinds.get(kindOf(event));
    if (alike) alike.push(event);
    else kinds.set(kindOf(event), [event]);
  }
  return kinds;
}

/** Draws a kind, each as often as it weighs, then one of its events. */
export function drawByWeight<Item>(
  kinds: ReadonlyMap<string, Item[]>,
  weightOf: (kind: string) => number,
  random: () => number,
): Item {
  const drawn = [...kinds].flatMap(([kind, events]) => Array.from({ length: weightOf(kind) }, () => events));
  return pick(pick(drawn, random), random);
}

/** A sequence of as many events as drawn between these lengths. */
export function sequenceOf<World, Event>(
  root: World,
  [least, most]: readonly [number, number],
  random: () => number,
  draw: (world: World) => Event,
  step: (world: World, event: Event) => World,
): Event[] {
  const sequence: Event[] = [];
  const length = least + Math.floor(random() * (most - least + 1));
  for (let world = root; sequence.length < length; world = step(world, sequence.at(-1)!))
    sequence.push(draw(world));
  return sequence;
}
