import type { CliCommand } from '../command.ts';

export const show: CliCommand = { name: 'show', summary: 'to be written', async run() {} };
