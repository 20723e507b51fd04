import { describe, expect, test } from 'vitest';
import { knowTypes } from '../../support/know-types.ts';
import { claims, complaints, failures, useSpecification, waitForRunning } from '../use-specification.ts';
import { TABLES } from './tables.ts';

const s1 = useSpecification(import.meta.url, TABLES);

const TEN_MINUTES_MS = 600_000;

/** The task processor runs: until it has processed one task. */
const runProcessor = () => s1.taskq(['work', '--max-tasks', '1']);

const storeFailsFor = (group: string) =>
  s1.admin.rows('insert into app.vector_store_outages values ($1)', group);
const storeRecovers = () => s1.admin.rows('delete from app.vector_store_outages');

async function deletesReceived(): Promise<string[]> {
  const rows = await s1.admin.rows<{ conversation_group_id: string }>(
    'select conversation_group_id from app.vector_store_deletes order by 1',
  );
  return rows.map((row) => row.conversation_group_id);
}

describe('Feature: Background Task Queue', () => {
  test('Scenario: a task is created and processed successfully: it is deleted', async () => {
    const { id } = await s1.enqueue('vector_store_delete', { conversationGroupId: 'test-group-123' });
    expect(await runProcessor()).toMatchObject({ code: 0 });
    expect(await s1.admin.rows('select from taskq.all_tasks where id = $1', id)).toEqual([]);
    expect(await deletesReceived()).toEqual(['test-group-123']);
  });

  test('Scenario: a failed task is scheduled for retry', async () => {
    const { id } = await s1.enqueue('vector_store_delete', { conversationGroupId: 'failing-group' });
    await storeFailsFor('failing-group');
    await runProcessor();
    expect(await s1.task(id)).toMatchObject({
      status: 'pending',
      attempts: 1,
      error: { message: 'the vector store failed for failing-group' },
    });
    expect(await s1.latestDelayMs(id)).toBe(TEN_MINUTES_MS);
    expect(await s1.admin.value('select available_at > clock_timestamp() from taskq.tasks')).toBe(true);
  });

  test('Scenario: a task is retried after the retry delay', async () => {
    const { id } = await s1.enqueue('vector_store_delete', { conversationGroupId: 'failing-group' });
    await storeFailsFor('failing-group');
    const processor = s1.work(['--until-idle']);
    await failures(processor, 1);
    await storeRecovers();
    await s1.makeDue(id);
    await processor.exit;
    expect(await s1.admin.rows('select from taskq.all_tasks')).toEqual([]);
    expect(await deletesReceived()).toEqual(['failing-group']);
  });

  test('Scenario: three processors run concurrently and process each of 100 tasks exactly once', async () => {
    // The store answers nobody until all three processors have asked it for something.
    const storeAnswers = await s1.hold('app.vector_store_deletes');
    const groups = Array.from({ length: 100 }, (_, n) => `group-${n}`).sort();
    for (const conversationGroupId of groups)
      await s1.enqueue('vector_store_delete', { conversationGroupId });
    const processors = [1, 2, 3].map(() => s1.work(['--until-idle']));
    await Promise.all(processors.map(claims));
    await waitForRunning(s1.admin, 3);
    await storeAnswers();

    const ends = await Promise.all(processors.map((processor) => processor.exit));
    expect(ends.map((end) => end.code)).toEqual([0, 0, 0]);
    expect(processors.flatMap(complaints)).toEqual([]);
    expect(await deletesReceived()).toEqual(groups);
    expect(
      await s1.admin.value<string>('select count(distinct processor) from app.vector_store_deletes'),
    ).toBe('3');
    expect(await s1.admin.rows('select from taskq.all_tasks')).toEqual([]);
  });
});

describe('what the scenarios leave open', () => {
  test('a failing task is retried forever, every ten minutes', async () => {
    const { id } = await s1.enqueue('vector_store_delete', { conversationGroupId: 'failing-group' });
    await s1.admin.rows('update taskq.tasks set attempts = 1000');
    await storeFailsFor('failing-group');
    await runProcessor();
    expect(await s1.task(id)).toMatchObject({ status: 'pending', attempts: 1001 });
    expect(await s1.latestDelayMs(id)).toBe(TEN_MINUTES_MS);
  });

  test('a task of a type without a handler waits and burns no attempt', async () => {
    await knowTypes(s1.admin.client, 'send_notification');
    const { id } = await s1.enqueue('send_notification');
    const { code, stdout } = await s1.taskq(['work', '--until-idle']);
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"of_other_types":1'),
    });
    expect(await s1.task(id)).toMatchObject({ status: 'pending', attempts: 0, error: null });
  });
});
