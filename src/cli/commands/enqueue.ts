import type { CliCommand } from '../command.ts';

export const enqueue: CliCommand = { name: 'enqueue', summary: 'to be written', async run() {} };
