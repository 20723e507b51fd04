/** The part of JSON Schema that `output-schema.json` is written in. */
export interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: false | Schema;
}

/** Says what is wrong with a value, each with its path; empty when it fits. `root` holds what `$ref` names. */
export function faultsOf(value: unknown, schema: Schema, root: Schema, path = '$'): string[] {
  if (schema.$ref !== undefined)
    return faultsOf(value, root.$defs![schema.$ref.replace('#/$defs/', '')]!, root, path);
  if (schema.anyOf !== undefined) {
    const faults = schema.anyOf.map((choice) => faultsOf(value, choice, root, path));
    return faults.some((of) => of.length === 0)
      ? []
      : [`${path}: fits none of these: ${faults.map((of) => of.join(', ')).join(' | ')}`];
  }
  return [...scalarFaults(value, schema, path), ...memberFaults(value, schema, root, path)];
}

function scalarFaults(value: unknown, schema: Schema, path: string): string[] {
  const faults: string[] = [];
  const types = typeof schema.type === 'string' ? [schema.type] : schema.type;
  if (types !== undefined && !types.some((type) => isOf(type, value)))
    faults.push(`${path}: ${typeOf(value)} is not ${types.join(' or ')}`);
  if (schema.enum !== undefined && !schema.enum.includes(value))
    faults.push(`${path}: ${JSON.stringify(value)} is not listed`);
  if (typeof value === 'string' && schema.pattern !== undefined && !new RegExp(schema.pattern).test(value))
    faults.push(`${path}: ${value} is not ${schema.pattern}`);
  if (typeof value === 'number' && value < (schema.minimum ?? -Infinity))
    faults.push(`${path}: ${value} is too small`);
  if (typeof value === 'number' && value > (schema.maximum ?? Infinity))
    faults.push(`${path}: ${value} is too large`);
  return faults;
}

function memberFaults(value: unknown, schema: Schema, root: Schema, path: string): string[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined
      ? []
      : value.flatMap((item, place) => faultsOf(item, items, root, `${path}[${place}]`));
  }
  if (typeof value !== 'object' || value === null) return [];
  const missing = (schema.required ?? [])
    .filter((name) => !(name in value))
    .map((name) => `${path}.${name}: is missing`);
  const members = Object.entries(value).flatMap(([name, member]) => {
    const of = schema.properties?.[name] ?? schema.additionalProperties;
    if (of === false) return [`${path}.${name}: is not described`];
    return of === undefined ? [] : faultsOf(member, of, root, `${path}.${name}`);
  });
  return [...missing, ...members];
}

function isOf(type: string, value: unknown): boolean {
  return type === typeOf(value) || (type === 'integer' && Number.isInteger(value));
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}
