import type { SchemaIssue, StandardSchema } from './standard-schema.ts';

export type CheckedPayload = { readonly value: unknown } | { readonly problem: string };

/**
 * Checks a payload against a handler's schema. Returns the schema's value, or the problem with its path in the payload:
 * `$.user.email: …`. Without a schema, returns the payload.
 */
export async function checkPayload(
  schema: StandardSchema | undefined,
  payload: unknown,
): Promise<CheckedPayload> {
  if (schema === undefined) return { value: payload };
  const checked = await schema['~standard'].validate(payload);
  if (checked.issues === undefined) return { value: checked.value };
  return { problem: checked.issues.slice(0, 5).map(described).join('; ') };
}

function described(issue: SchemaIssue): string {
  const keys = (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part));
  const path = keys.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return `$${path}: ${issue.message}`;
}
