import type { CliCommand } from '../command.ts';

export const dead: CliCommand = { name: 'dead', summary: 'to be written', async run() {} };
