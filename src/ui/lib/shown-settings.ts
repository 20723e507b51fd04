import { useSeesAll } from './app.ts';
import { type Loaded, useLoad } from './load.ts';
import { type Setting, settingText } from './settings.ts';

/** A setting with the value that applies and its source. */
export interface ShownSetting extends Setting {
  /** The value set here; null: none. */
  readonly value: unknown;
  /** The value that applies, as text. */
  readonly applies: string;
  readonly from: string;
}

/** The source of a setting, as the API returns it. */
interface Source {
  /** `operator`, `worker` or, of a default, `built in`. */
  readonly from: string;
  /** The worker that registered it. */
  readonly worker: string | null;
}

/** The settings for all tasks, as `GET defaults` answers them. */
export type Defaults = Readonly<Record<string, Source & { readonly value: unknown }>>;

/** Reads the settings for all tasks, if the caller may. */
export function useDefaults(): Loaded<Defaults> {
  return useLoad<Defaults>(useSeesAll() ? 'defaults' : null);
}

/** The settings of a queue or a type; those not set there come from all tasks, or from the defaults in these pages. */
export function shownSettings(
  settings: readonly Setting[],
  row: Readonly<Record<string, unknown>>,
  defaults: Defaults | undefined,
): readonly ShownSetting[] {
  const sources = row.sources as Defaults;
  return settings.map((setting) => {
    const { name, column = name, unset = 'not set' } = setting;
    const source = sources[column];
    if (source !== undefined) {
      const { value } = source;
      return { ...setting, value, applies: settingText(setting, value) ?? unset, from: sourceText(source) };
    }
    const applying = defaults?.[column];
    // A value derived from another setting, such as a burst from its rate, is in the row.
    const applies = settingText(setting, applying?.value ?? row[column]) ?? unset;
    const from = applying === undefined ? 'built in' : `default, ${sourceText(applying)}`;
    return { ...setting, value: null, applies, from };
  });
}

/** The settings for all tasks. */
export function shownDefaults(settings: readonly Setting[], defaults: Defaults): readonly ShownSetting[] {
  return settings.map((setting) => {
    const { name, column = name, unset = 'not set' } = setting;
    const source = defaults[column];
    const applies = settingText(setting, source?.value) ?? unset;
    return {
      ...setting,
      value: source?.from === 'operator' ? source.value : null,
      ...{ applies, from: source === undefined ? 'built in' : sourceText(source) },
    };
  });
}

function sourceText({ from, worker }: Source): string {
  if (from === 'operator') return 'set by an operator';
  return worker === null ? from : `worker ${worker}`;
}
