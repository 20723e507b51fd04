import type { Command } from 'commander';

/** What a command line names. */
export interface Named {
  /** The commands from the program down: `taskq`, `dead`, `revive`. */
  readonly commands: readonly [Command, ...Command[]];
  /** The first operand that names no command. */
  readonly other: string | undefined;
  readonly asksHelp: boolean;
}

/** Find the commands that `argv` names. Options may stand anywhere; their values are no operands. */
export function namedCommands(program: Command, argv: readonly string[]): Named {
  const commands: [Command, ...Command[]] = [program];
  let other: string | undefined;
  let asksHelp = false;
  for (let at = 0; at < argv.length && argv[at] !== '--'; at += 1) {
    const word = argv[at]!;
    if (word === '-h' || word === '--help') asksHelp = true;
    else if (takesNext(commands, word)) at += 1;
    else if (!word.startsWith('-') && other === undefined) {
      const below = commands.at(-1)!.commands.find((command) => command.name() === word);
      if (below === undefined) other = word;
      else commands.push(below);
    }
  }
  return { commands, other, asksHelp };
}

function takesNext(commands: readonly Command[], word: string): boolean {
  return commands.some(({ options }) =>
    options.some(({ long, short, required }) => required && (word === long || word === short)),
  );
}

/** `help dead revive` is `dead revive --help`. */
export function withHelpOption(argv: readonly string[]): readonly string[] {
  const at = argv.findIndex((word) => !word.startsWith('-'));
  return argv[at] === 'help' ? withHelpOption([...argv.toSpliced(at, 1), '--help']) : argv;
}
