import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useApp } from './lib/app.ts';
import { go, hrefTo } from './lib/place.ts';
import { chooseTheme, chosenTheme, THEMES, type Theme } from './lib/theme.ts';
import { useKeys } from './lib/use-keys.ts';
import { ActivityButton, Toast } from './parts/activity-view.tsx';
import { Help } from './parts/help.tsx';
import { LiveState } from './parts/live-state.tsx';
import { Empty } from './parts/loaded.tsx';
import { Screen } from './parts/screen.tsx';
import { Search } from './parts/search.tsx';
import { isShownTo, SCREENS, screenOf } from './screens.ts';

/** The frame around every screen. */
export function Frame() {
  const { caller, place, live } = useApp();
  const screens = SCREENS.filter((screen) => isShownTo(screen, caller));
  useKeys([
    ...screens.flatMap(({ name, title, key }) =>
      key === undefined ? [] : [{ keys: `g ${key}`, text: title, run: () => go(hrefTo(name)) }],
    ),
    { keys: 'r', text: 'hold updates, or go on', isDefault: true, run: live.toggle },
  ]);
  const main = useFocusOnChange(place.screen + place.names.join('/'));
  const [isOpen, setOpen] = useState(false);
  const current = screenOf(place.screen);
  // The menu closes when another screen is opened.
  useLayoutEffect(() => setOpen(false), [place]);
  return (
    <>
      <header class="top">
        <button type="button" class="skip" onClick={() => main.current?.querySelector('h1')?.focus()}>
          Skip to the content
        </button>
        <button
          type="button"
          class="menu quiet"
          aria-expanded={isOpen}
          aria-controls="menu"
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </button>
        <a class="brand" href={hrefTo('overview')}>
          taskq
        </a>
        <Search />
        <LiveState />
      </header>
      <div class={`side ${isOpen ? 'open' : ''}`} id="menu">
        <nav aria-label="Screens">
          <ul>
            {screens
              .filter(({ key }) => key !== undefined)
              .map(({ name, title, key, about }) => (
                <li key={name}>
                  <a
                    data-key={key}
                    href={hrefTo(name)}
                    aria-current={isCurrent(name, place.screen, about) ? 'page' : undefined}
                  >
                    {title}
                  </a>
                </li>
              ))}
          </ul>
        </nav>
        <footer>
          <Account />
        </footer>
      </div>
      <main ref={main}>
        {current === undefined || !isShownTo(current, caller) ? <NoScreen /> : <current.component />}
      </main>
      <Toast />
    </>
  );
}

function isCurrent(name: string, shown: string, about: readonly string[] = []): boolean {
  return name === shown || about.includes(shown);
}

function NoScreen() {
  return (
    <Screen title="No such screen">
      <Empty text="The address names no screen, or one that your token does not show." />
    </Screen>
  );
}

function Account() {
  const { caller } = useApp();
  return (
    <>
      <p>
        {caller.name ?? 'unnamed'}, {caller.role}
        {!caller.write && ', read-only'}
      </p>
      <ThemeSwitch />
      <div class="buttons">
        <ActivityButton />
        <Help />
      </div>
      <form method="post" action="sign-out" class="buttons">
        <a href="sign-in">Sign in</a>
        <button type="submit" class="quiet">
          Sign out
        </button>
      </form>
      <p class="muted">taskq {caller.version}</p>
    </>
  );
}

function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(chosenTheme());
  return (
    <label class="field">
      Theme
      <select
        value={theme}
        onChange={({ currentTarget }) => {
          const chosen = currentTarget.value as Theme;
          setTheme(chosen);
          chooseTheme(chosen);
        }}
      >
        {THEMES.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}

/** Focus the heading of a newly opened screen. */
function useFocusOnChange(shown: string) {
  const main = useRef<HTMLElement>(null);
  const last = useRef(shown);
  // In a layout effect: before a key can move the focus.
  useLayoutEffect(() => {
    if (last.current === shown) return;
    last.current = shown;
    main.current?.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [shown]);
  return main;
}
