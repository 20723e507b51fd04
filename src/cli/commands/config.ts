import type { CliCommand } from '../command.ts';

export const config: CliCommand = { name: 'config', summary: 'to be written', async run() {} };
