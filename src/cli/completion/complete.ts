import type { Command, Option } from 'commander';
import { buildProgram } from '../program.ts';
import type { Suggestions } from '../run/command.ts';
import { collect } from '../select/collect.ts';
import { type Known, knownBy, type NamesOf, type Offer } from './names.ts';
import { optionNamed, parseWords, type WordsBefore } from './parse-words.ts';

export type Completion =
  | { readonly kind: 'offers'; readonly offers: readonly Offer[] }
  /** Complete a file name, which the shell does better. */
  | { readonly kind: 'files' };

/**
 * Complete the last of these words: the words after `taskq`, the last one up to the cursor (it may be empty). Offers
 * commands, options, fixed values and names from the database. Loads only the commands that the words name.
 */
export async function complete(words: readonly string[], namesOf: NamesOf): Promise<Completion> {
  const current = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const program = await buildProgram(before, async () => {});
  const parsed = await parseWords(program, before);
  const found = offersAt(parsed, current, before);
  if (found.kind === 'files') return found;
  const named =
    found.kind === 'known' && !before.some((word) => ELSEWHERE.test(word))
      ? (await namesOf(found.known)).map((offer) => ({ ...offer, value: found.prefix + offer.value }))
      : [];
  const offers = found.kind === 'known' ? named : found.offers;
  const given = new Set(before);
  const isNew = ({ value }: Offer) =>
    value.startsWith(current) && !(found.kind === 'known' && given.has(value));
  const unique = [...new Map(offers.filter(isNew).map((offer) => [offer.value, offer])).values()];
  return { kind: 'offers', offers: unique };
}

/** The line names a database other than that of the settings. */
const ELSEWHERE = /^--(database-url|config|env-file)\b/;

/** The completions, or the kind of names to ask the database for. */
type Asked = Completion | { readonly kind: 'known'; readonly known: Known; readonly prefix: string };

function offersAt(parsed: WordsBefore, current: string, before: readonly string[]): Asked {
  const { command, awaiting, optionsOver } = parsed;
  if (awaiting !== undefined && !(awaiting.optional && current.startsWith('-'))) {
    return valuesOf(parsed, awaiting);
  }
  if (optionsOver || !current.startsWith('-')) return operands(parsed);
  const [name = '', value] = current.split('=', 2);
  if (value === undefined) return offers(optionsOf(parsed, before));
  const option = optionNamed(command, name);
  const values = option === undefined ? NONE : valuesOf(parsed, option);
  if (values.kind === 'files') return NONE;
  if (values.kind === 'known') return { ...values, prefix: `${name}=` };
  return offers(values.offers.map((offer) => ({ ...offer, value: `${name}=${offer.value}` })));
}

function valuesOf({ cli, command }: WordsBefore, option: Option): Asked {
  if (/<(path|dir)>/.test(option.flags)) return { kind: 'files' };
  return valuesNamed(cli.suggestions, command, option.attributeName());
}

/** The names of the subcommands, or the values of the next operand. */
function operands({ command, entries, cli, operandsBefore, isHelp }: WordsBefore): Asked {
  if (entries.length > 0 && (operandsBefore === 0 || isHelp)) {
    const help = command.parent === null && !isHelp ? [HELP] : [];
    return offers([...entries.map(({ name, summary }) => ({ value: name, about: summary })), ...help]);
  }
  const declared = command.registeredArguments;
  const last = declared.at(-1);
  const argument = declared[operandsBefore] ?? (last?.variadic ? last : undefined);
  return argument === undefined ? NONE : valuesNamed(cli.suggestions, command, argument.name());
}

/** The fixed values; if there are none, the names in the database. */
function valuesNamed(suggestions: Suggestions | undefined, command: Command, name: string): Asked {
  const fixed = suggestions?.[name];
  const known = fixed === undefined ? knownBy(command, name) : undefined;
  return known === undefined ? plain(fixed) : { kind: 'known', known, prefix: '' };
}

const HELP: Offer = { value: 'help', about: 'print the help of a command' };

/** The options that may still be given. */
function optionsOf({ command, standIn }: WordsBefore, before: readonly string[]): Offer[] {
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
