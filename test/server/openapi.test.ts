import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { openApi } from '../../src/server/openapi.ts';
import { ROUTES } from '../../src/server/route-table.ts';

test('the document is OpenAPI 3.1, and describes every route', async () => {
  const document = openApi();
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  const operations = Object.values(document.paths as object).flatMap((path) => Object.values(path as object));
  expect(operations.length).toBe(ROUTES.length);
  const ids = operations.map(({ operationId }) => operationId as string);
  expect(new Set(ids).size).toBe(ids.length);
});

test('what reads takes no body, and no viewer may write', () => {
  for (const { method, body } of ROUTES)
    if (method === 'GET' || method === 'DELETE') expect(body).toBeUndefined();
  const writes = ROUTES.filter(({ method, forBrowsers }) => method !== 'GET' && !forBrowsers);
  expect(writes.filter(({ role }) => role === 'viewer' || role === 'open')).toEqual([]);
});
