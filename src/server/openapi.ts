import { fullPathOf, type Route } from './route.ts';
import { ROUTES } from './route-table.ts';
import type { Schema } from './schema.ts';
import { SCHEMAS } from './schemas.ts';

/** Returns the OpenAPI 3.1 document of the route table. */
export function openApi(): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of ROUTES) {
    const path = fullPathOf(route);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'taskq', version: '1', description: 'The HTTP API of taskq: see docs/http.md.' },
    paths,
    components: {
      schemas: SCHEMAS,
      responses: {
        Problem: { description: 'A problem', content: contentOf(PROBLEM, 'application/problem+json') },
      },
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
}

const PROBLEM = { $ref: '#/components/schemas/Problem' };

function operationOf(route: Route) {
  const { method, path, role, summary, body, forBrowsers, takesMany, answers } = route;
  return {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[^a-z]+(\w)/g, (_, first: string) => first.toUpperCase()).replaceAll(/\W/g, '')}`,
    summary,
    security: role === 'open' ? [] : [{ token: [] }],
    'x-role': role,
    parameters: parametersOf(route),
    ...(body !== undefined && {
      requestBody: {
        content: {
          ...contentOf(takesMany ? { anyOf: [body, { type: 'array', items: body }] } : body),
          ...(takesMany && contentOf({ type: 'string' }, 'application/x-ndjson')),
          ...(forBrowsers && contentOf(body, 'application/x-www-form-urlencoded')),
        },
      },
    }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, { description, schema, type }]) => [
          status,
          { description, content: contentOf(schema, type) },
        ]),
      ),
      default: { $ref: '#/components/responses/Problem' },
    },
  };
}

function parametersOf({ path, query = {} }: Route) {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  return [
    ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...Object.entries(query).map(([name, { description, isList, isPrefix, ...schema }]) => ({
      name,
      in: 'query',
      description,
      // Each member is a parameter of its own.
      ...(isPrefix && { style: 'form', explode: true }),
      schema: isPrefix ? membersOf(name, schema) : isList ? { type: 'array', items: schema } : schema,
    })),
  ];
}

/** An object whose members have names that begin like this. */
function membersOf(prefix: string, schema: Schema) {
  return { type: 'object', patternProperties: { [`^${prefix}\\.`]: schema }, additionalProperties: false };
}

function contentOf(schema: unknown, type = 'application/json') {
  return { [type]: { schema } };
}
