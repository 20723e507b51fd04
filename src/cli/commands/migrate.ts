import type { CliCommand } from '../command.ts';

export const migrate: CliCommand = { name: 'migrate', summary: 'to be written', async run() {} };
