import { useState } from 'preact/hooks';
import { segment } from '../../lib/api.ts';
import { useMay } from '../../lib/app.ts';
import { useLoad } from '../../lib/load.ts';
import { hrefTo } from '../../lib/place.ts';
import type { Queue } from '../../lib/queue.ts';
import { QUEUE_SETTINGS } from '../../lib/settings.ts';
import { shownSettings, useDefaults } from '../../lib/shown-settings.ts';
import { visible } from '../../lib/text.ts';
import { useKeys } from '../../lib/use-keys.ts';
import { DepthView } from '../../parts/depth-view.tsx';
import { LoadedView } from '../../parts/loaded.tsx';
import { PauseDialog, PauseState } from '../../parts/pause.tsx';
import { Screen, Section } from '../../parts/screen.tsx';
import { SettingsView } from '../../parts/settings-view.tsx';
import { Name } from '../../parts/text.tsx';
import { Groups } from './groups.tsx';

/** A queue: its tasks, its pause, its settings and its groups. */
export function QueueScreen({ name }: { readonly name: string }) {
  const path = `queues/${segment(name)}`;
  const queue = useLoad<Queue>(path);
  const defaults = useDefaults();
  const [isAsking, ask] = useState(false);
  const mayPause = useMay('operator') && queue.data !== undefined;
  const verb = queue.data?.pausedAt == null ? 'pause' : 'resume';
  useKeys(mayPause ? [{ keys: 'p', text: `${verb} the queue`, run: () => ask(true) }] : []);
  return (
    <Screen
      title={`Queue ${visible(name)}`}
      heading={
        <>
          Queue <Name text={name} />
        </>
      }
      actions={
        <>
          <a href={hrefTo('tasks', [], { queue: name })}>Tasks</a>
          {mayPause && (
            <button type="button" onClick={() => ask(true)}>
              {verb === 'pause' ? 'Pause…' : 'Resume…'}
            </button>
          )}
        </>
      }
    >
      <DepthView of="queue" name={name} />
      <LoadedView of={queue}>
        {(of) => (
          <>
            {of.pausedAt !== null && (
              <p class="card">
                <PauseState
                  since={of.pausedAt}
                  until={of.pausedUntil}
                  by={of.pausedBy}
                  reason={of.pauseReason}
                />
              </p>
            )}
            <Section title="Settings">
              <SettingsView
                of={`queue ${name}`}
                settings={shownSettings(QUEUE_SETTINGS, of, defaults.data)}
                path={path}
                onDone={queue.reload}
              />
            </Section>
          </>
        )}
      </LoadedView>
      <Groups queue={name} />
      {isAsking && (
        <PauseDialog
          verb={verb}
          of={`queue ${visible(name)}`}
          path={path}
          mayEnd
          onDone={queue.reload}
          onClose={() => ask(false)}
        />
      )}
    </Screen>
  );
}
