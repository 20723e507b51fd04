import { useLoad } from '../lib/load.ts';
import { DEFAULT_SETTINGS } from '../lib/settings.ts';
import { type Defaults, shownDefaults } from '../lib/shown-settings.ts';
import { LoadedView } from '../parts/loaded.tsx';
import { Screen } from '../parts/screen.tsx';
import { SettingsView } from '../parts/settings-view.tsx';

/** The settings of tasks that have none of their own, of their type or of their queue. */
export function SettingsScreen() {
  const defaults = useLoad<Defaults>('defaults');
  return (
    <Screen title="Settings">
      <p class="muted">
        They apply to tasks without a setting of their own, of their type or of their queue. What is set here
        overrides the configuration of workers.
      </p>
      <LoadedView of={defaults}>
        {(of) => (
          <SettingsView
            of="all tasks"
            settings={shownDefaults(DEFAULT_SETTINGS, of)}
            path="defaults"
            onDone={defaults.reload}
          />
        )}
      </LoadedView>
    </Screen>
  );
}
