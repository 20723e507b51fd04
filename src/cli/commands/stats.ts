import type { CliCommand } from '../command.ts';

export const stats: CliCommand = { name: 'stats', summary: 'to be written', async run() {} };
