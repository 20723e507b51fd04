import type { CliCommand } from '../command.ts';

export const db: CliCommand = { name: 'db', summary: 'to be written', async run() {} };
