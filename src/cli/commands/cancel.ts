import type { CliCommand } from '../command.ts';

export const cancel: CliCommand = { name: 'cancel', summary: 'to be written', async run() {} };
