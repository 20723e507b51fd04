/** The subset of JSON Schema in which the route table describes requests and answers. */
export interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: false | Schema;
}

/** What is wrong with a part of a request. */
export interface Misfit {
  /** Where, as a JSON pointer into the body, or the name of a parameter of the URL. */
  readonly pointer: string;
  readonly detail: string;
}

/** Yields the mismatches between a request's body and its schema, one after the other; none: it fits. */
export function* misfitsIn(value: unknown, schema: Schema, pointer = ''): Generator<Misfit, void> {
  if (schema.anyOf !== undefined) {
    if (!schema.anyOf.some((one) => fits(value, one))) yield* misfitsIn(value, schema.anyOf.at(-1)!, pointer);
    return;
  }
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => isOf(type, value)))
    yield { pointer, detail: `expected ${types.join(' or ')}, found ${typeOf(value)}` };
  else if (schema.enum !== undefined && !schema.enum.includes(value))
    yield { pointer, detail: `expected one of ${schema.enum.join(', ')}` };
  else if (Array.isArray(value)) yield* itemMisfits(value, schema, pointer);
  else if (typeOf(value) === 'object') yield* memberMisfits(value as object, schema, pointer);
}

function fits(value: unknown, schema: Schema): boolean {
  return misfitsIn(value, schema).next().done === true;
}

function* itemMisfits(items: readonly unknown[], schema: Schema, pointer: string): Generator<Misfit, void> {
  const { maxItems = Number.POSITIVE_INFINITY, items: each } = schema;
  if (items.length > maxItems) return yield { pointer, detail: `expected at most ${maxItems} items` };
  if (each === undefined) return;
  for (const [place, item] of items.entries()) yield* misfitsIn(item, each, `${pointer}/${place}`);
}

function* memberMisfits(value: object, schema: Schema, pointer: string): Generator<Misfit, void> {
  const { properties = {}, required = [], additionalProperties } = schema;
  for (const name of required)
    if (!Object.hasOwn(value, name)) yield { pointer: pointerTo(pointer, name), detail: 'is missing' };
  for (const [name, member] of Object.entries(value)) {
    const known = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    const place = pointerTo(pointer, name);
    if (known === false) yield { pointer: place, detail: 'is unknown' };
    else if (known !== undefined) yield* misfitsIn(member, known, place);
  }
}

/** Returns the JSON pointer to a member (RFC 6901). */
export function pointerTo(pointer: string, name: string): string {
  return `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function isOf(type: string, value: unknown): boolean {
  return type === typeOf(value) || (type === 'integer' && Number.isInteger(value));
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Number) return 'number';
  return Array.isArray(value) ? 'array' : typeof value;
}

export const TEXT: Schema = { type: 'string' };
export const TEXT_OR_NULL: Schema = { type: ['string', 'null'] };
export const WHOLE: Schema = { type: 'integer' };
export const WHOLE_OR_NULL: Schema = { type: ['integer', 'null'] };
export const NUMBER: Schema = { type: 'number' };
export const NUMBER_OR_NULL: Schema = { type: ['number', 'null'] };
export const FLAG: Schema = { type: 'boolean' };
export const TIME: Schema = { type: 'string', format: 'date-time' };
export const TIME_OR_NULL: Schema = { type: ['string', 'null'], format: 'date-time' };
export const ANY: Schema = {};
export const MEMBERS: Schema = { type: 'object' };
export const MEMBERS_OR_NULL: Schema = { type: ['object', 'null'] };
/** Text such as `30s`, or milliseconds. */
export const DURATION: Schema = {
  type: ['string', 'integer'],
  description: 'text such as `30s`, or milliseconds',
};

/** An answer: all of these members. A later version may add others. */
export function record(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', properties, required: Object.keys(properties) };
}

/** The body of a request: these members and no others, of which some are required. */
export function input(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
): Schema {
  return { type: 'object', properties, required, additionalProperties: false };
}

export function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

/** Names a schema of `SCHEMAS`. */
export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}
