import { createHash } from 'node:crypto';
import { readdirSync, realpathSync } from 'node:fs';
import { basename, dirname } from 'node:path';

/**
 * Returns the name of the database for the project that contains `directory`: readable, unique to the project, and
 * valid for PostgreSQL (63 bytes). A project is the nearest directory upwards with a package.json or a taskq
 * configuration; outside of any, the name is `default`.
 */
export function projectDatabase(directory: string): string {
  const project = nearestProject(realpathSync(directory));
  if (project === undefined) return 'default';
  const readable = basename(project)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')
    .slice(0, 50);
  // The path, not the name: two checkouts of one project are two projects.
  const hash = createHash('sha256').update(project).digest('hex').slice(0, 8);
  return `${readable || 'project'}_${hash}`;
}

const PROJECT_FILE = /^(package\.json|taskq\.config\.(ts|mts|cts|js|mjs|cjs|json|ya?ml)|\.taskqrc(\..+)?)$/;

function nearestProject(directory: string): string | undefined {
  for (let at = directory; ; at = dirname(at)) {
    if (isProject(at)) return at;
    if (at === dirname(at)) return undefined;
  }
}

function isProject(directory: string): boolean {
  try {
    return readdirSync(directory).some((name) => PROJECT_FILE.test(name));
  } catch {
    return false; // we may enter it but not read it
  }
}
