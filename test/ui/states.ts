import type { Locator } from 'playwright-core';
import { expect } from 'vitest';
import { expectUsable, type OpenPage, type Site } from './use-site.ts';

const READS = /\/api\/v1\/(?!live)/;

/** Asserts that a screen keeps what it shows while the network, or the database, is away, and says so. */
export async function expectKept(
  site: Pick<Site, 'loseDatabase' | 'sample'>,
  opened: OpenPage,
  shown: Locator,
): Promise<void> {
  const { page } = opened;
  const alert = page.getByRole('alert').first();
  const kept = page.locator('.stale').filter({ has: shown }).first();
  // The stream stays, so that there are figures after which the screen reads again.
  await page.route(READS, (route) => route.abort());
  await site.sample();
  await alert.filter({ hasText: 'unreachable' }).waitFor();
  await kept.waitFor();
  await page.unroute(READS);
  await alert.waitFor({ state: 'detached' });
  site.loseDatabase();
  await site.sample();
  await alert.filter({ hasText: 'unavailable' }).waitFor();
  await kept.waitFor();
  await expectUsable(opened);
  expect(opened.faults({ requestsFail: true })).toEqual([]);
}
