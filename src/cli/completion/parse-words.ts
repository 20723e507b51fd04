import type { Command, Option } from 'commander';
import { COMMANDS } from '../commands.ts';
import type { CliCommand, CommandEntry } from '../run/command.ts';

/** The parsed words before the cursor: the command, and what may follow. */
export interface WordsBefore {
  readonly command: Command;
  readonly cli: CliCommand;
  readonly entries: readonly CommandEntry[];
  /** The default subcommand, if it has one. */
  readonly standIn: Command | undefined;
  /** The number of operands before the cursor. */
  readonly operandsBefore: number;
  /** The option just before the cursor that must, or (`optional`) may, be followed by its value. */
  readonly awaiting: Option | undefined;
  /** `--` precedes the cursor. */
  readonly optionsOver: boolean;
  /** `taskq help` precedes the cursor: the name of a command follows. */
  readonly isHelp: boolean;
}

/** Parse the words before the cursor, loading only the commands that they name. */
export async function parseWords(program: Command, words: readonly string[]): Promise<WordsBefore> {
  let command = program;
  let cli: CliCommand = {};
  let entries: readonly CommandEntry[] = COMMANDS.flatMap((group) => group.entries);
  let operandsBefore = 0;
  let awaiting: Option | undefined;
  let optionsOver = false;
  for (const word of words) {
    const isOption = !optionsOver && /^-./.test(word);
    if (awaiting !== undefined && !(awaiting.optional && isOption)) {
      awaiting = undefined;
    } else if (isOption) {
      optionsOver = word === '--';
      awaiting = valueAfter(command, word);
    } else {
      const entry = operandsBefore === 0 ? entries.find(({ name }) => name === word) : undefined;
      if (entry === undefined) {
        operandsBefore += 1;
      } else {
        cli = await entry.load();
        command = command.commands.find((below) => below.name() === word) ?? command;
        entries = cli.subcommands ?? [];
      }
    }
  }
  const defaultName = entries.find(({ isDefault }) => isDefault)?.name;
  const standIn = command.commands.find((below) => below.name() === defaultName);
  const isHelp = command === program && words.length === 1 && words[0] === 'help';
  return { command, cli, entries, standIn, operandsBefore, awaiting, optionsOver, isHelp };
}

/** Find the option of this name, of the command or of one above it. */
export function optionNamed(command: Command, name: string): Option | undefined {
  for (let at: Command | null = command; at !== null; at = at.parent) {
    const found = at.options.find(({ long, short }) => long === name || short === name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Find the option that takes, or may take, the next word as its value. */
function valueAfter(command: Command, word: string): Option | undefined {
  const option = word.includes('=') ? undefined : optionNamed(command, word);
  return option?.required || option?.optional ? option : undefined;
}
