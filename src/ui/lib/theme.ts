import { remember, remembered } from './remembered.ts';

export const THEMES = ['system', 'light', 'dark'] as const;

export type Theme = (typeof THEMES)[number];

const NAME = 'theme';

/** The theme chosen in this browser. */
export function chosenTheme(): Theme {
  const stored = remembered(NAME);
  return THEMES.find((theme) => theme === stored) ?? 'system';
}

export function chooseTheme(theme: Theme): void {
  remember(NAME, theme === 'system' ? null : theme);
  applyTheme(theme);
}

/** Shows the pages in a theme: the style sheet reads the attribute. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
