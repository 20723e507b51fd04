import type { LoadedConfig } from './load-config.ts';
import type { SettingSource } from './setting.ts';
import { SETTING_FIELDS, settingOf } from './settings.ts';

export interface DescribedSetting {
  readonly key: string;
  /** As a user would write it, without passwords; null if not set. */
  readonly value: string | null;
  readonly source: SettingSource;
}

/** Lists every setting with its value and source, in the order of `SETTINGS`. */
export function describeConfig({ values, sources }: LoadedConfig): DescribedSetting[] {
  return SETTING_FIELDS.map((field) => {
    const { key, show } = settingOf(field);
    const value: unknown = values[field];
    return {
      key,
      value: value === null ? null : show(value as NonNullable<unknown>),
      source: sources[field],
    };
  });
}

export interface SettingReference {
  readonly key: string;
  readonly env: string;
  readonly flag: string;
  readonly default: string;
  readonly help: string;
}

/** Lists every setting as text, for docs/reference.md. Parts that a setting lacks are empty. */
export function describeSettings(): SettingReference[] {
  return SETTING_FIELDS.map((field) => {
    const { key, env, flag, default: initial, show, help } = settingOf(field);
    const shown = initial === null ? '' : show(initial as NonNullable<unknown>);
    return { key, env: env.join(', '), flag: flag ?? '', default: shown, help };
  });
}
