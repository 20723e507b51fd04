import { setTimeout as sleep } from 'node:timers/promises';

/** Sends messages of its own over the channel to whatever started its worker. */
export default async function ({ messages }) {
  for (const message of messages) process.send(message);
  await sleep(100);
  return 'its own';
}
