import type { Command, Option } from 'commander';
import { buildProgram } from '../program.ts';
import { collect } from '../task-filter.ts';
import { findPlace, optionNamed, type Place } from './find-place.ts';

/** A word that may stand where the cursor is. */
export interface Offer {
  readonly value: string;
  /** One line; may be empty. */
  readonly about: string;
}

export type Completion =
  | { readonly kind: 'offers'; readonly offers: readonly Offer[] }
  /** The name of a file is wanted, which the shell knows better. */
  | { readonly kind: 'files' };

/**
 * What may stand in place of the last of these words, which are those after `taskq`, the last one up to the cursor (it
 * may be empty): commands, options and fixed values. Only what the words name is loaded.
 */
export async function complete(words: readonly string[]): Promise<Completion> {
  const current = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const program = await buildProgram(before, async () => {});
  const place = await findPlace(program, before);
  const found = offersAt(place, current, before);
  if (found.kind === 'files') return found;
  return { kind: 'offers', offers: found.offers.filter(({ value }) => value.startsWith(current)) };
}

function offersAt(place: Place, current: string, before: readonly string[]): Completion {
  const { command, awaiting, optionsOver } = place;
  if (awaiting !== undefined && !(awaiting.optional && current.startsWith('-'))) {
    return valuesOf(place, awaiting);
  }
  if (optionsOver || !current.startsWith('-')) return operands(place);
  const [name = '', value] = current.split('=', 2);
  if (value === undefined) return offers(optionsOf(place, before));
  const option = optionNamed(command, name);
  const values = option === undefined ? NONE : valuesOf(place, option);
  return values.kind === 'files'
    ? NONE
    : offers(values.offers.map((offer) => ({ ...offer, value: `${name}=${offer.value}` })));
}

function valuesOf({ cli }: Place, option: Option): Completion {
  if (/<(path|dir)>/.test(option.flags)) return { kind: 'files' };
  return plain(cli.suggestions?.[option.attributeName()]);
}

/** The names of the commands below, or the values of the operand whose turn it is. */
function operands({ command, entries, cli, operandsBefore, isHelp }: Place): Completion {
  if (entries.length > 0 && (operandsBefore === 0 || isHelp)) {
    const help = command.parent === null && !isHelp ? [HELP] : [];
    return offers([...entries.map(({ name, summary }) => ({ value: name, about: summary })), ...help]);
  }
  const declared = command.registeredArguments;
  const last = declared.at(-1);
  const argument = declared[operandsBefore] ?? (last?.variadic ? last : undefined);
  return argument === undefined ? NONE : plain(cli.suggestions?.[argument.name()]);
}

const HELP: Offer = { value: 'help', about: 'print the help of a command' };

/** Those that may be given and have not been. */
function optionsOf({ command, standIn }: Place, before: readonly string[]): Offer[] {
  const visible = [command, ...(standIn === undefined ? [] : [standIn])].flatMap((at: Command) => {
    const help = at.createHelp();
    return [...help.visibleOptions(at), ...help.visibleGlobalOptions(at)];
  });
  const given = new Set(before.map((word) => word.split('=')[0]));
  const left = visible.filter(({ long, parseArg }) => parseArg === collect || !given.has(long ?? ''));
  const byName = new Map(left.map((option) => [option.long ?? option.short ?? '', option.description]));
  return [...byName].map(([value, about]) => ({ value, about }));
}

const NONE = { kind: 'offers', offers: [] } as const;

function offers(list: readonly Offer[]): { readonly kind: 'offers'; readonly offers: readonly Offer[] } {
  return { kind: 'offers', offers: list };
}

function plain(values: readonly string[] = []): Completion {
  return offers(values.map((value) => ({ value, about: '' })));
}
