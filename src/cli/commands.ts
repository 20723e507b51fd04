import type { CliCommand } from './command.ts';
import { cancel } from './commands/cancel.ts';
import { config } from './commands/config.ts';
import { db } from './commands/db.ts';
import { dead } from './commands/dead.ts';
import { enqueue } from './commands/enqueue.ts';
import { list } from './commands/list.ts';
import { migrate } from './commands/migrate.ts';
import { show } from './commands/show.ts';
import { stats } from './commands/stats.ts';
import { work } from './commands/work.ts';

/** Every command, in the order of `taskq --help`. */
export const COMMANDS: readonly { readonly heading: string; readonly commands: readonly CliCommand[] }[] = [
  { heading: 'Tasks:', commands: [enqueue, work, list, show, cancel, stats, dead] },
  { heading: 'Setup:', commands: [migrate, config, db] },
];
