import { useState } from 'preact/hooks';
import { segment } from '../../lib/api.ts';
import { useMay } from '../../lib/app.ts';
import { useLoad } from '../../lib/load.ts';
import { hrefTo } from '../../lib/place.ts';
import { TYPE_SETTINGS } from '../../lib/settings.ts';
import { shownSettings, useDefaults } from '../../lib/shown-settings.ts';
import { visible } from '../../lib/text.ts';
import type { Type } from '../../lib/type.ts';
import { useKeys } from '../../lib/use-keys.ts';
import { DepthView } from '../../parts/depth-view.tsx';
import { LoadedView } from '../../parts/loaded.tsx';
import { Facts, Screen, Section } from '../../parts/screen.tsx';
import { SettingsView } from '../../parts/settings-view.tsx';
import { Status } from '../../parts/status.tsx';
import { Name, Time } from '../../parts/text.tsx';
import { TypeDialog, type TypeVerb } from './dialogs.tsx';

/** A type: its tasks, its breaker, its workers and its settings. */
export function TypeScreen({ name }: { readonly name: string }) {
  const path = `types/${segment(name)}`;
  const type = useLoad<Type>(path);
  const defaults = useDefaults();
  const [verb, setVerb] = useState<TypeVerb>();
  const mayResume = useMay('operator');
  const mayForget = useMay('admin') && type.data?.workers.length === 0;
  const isUnknown = type.problem?.status === 404;
  const isOpen = type.data?.breakerOpenedAt != null;
  useKeys(mayResume && isOpen ? [{ keys: 'p', text: 'resume the type', run: () => setVerb('resume') }] : []);
  return (
    <Screen
      title={`Type ${visible(name)}`}
      heading={
        <>
          Type <Name text={name} />
        </>
      }
      actions={
        <>
          <a href={hrefTo('tasks', [], { type: name })}>Tasks</a>
          {mayResume && isUnknown && (
            <button type="button" onClick={() => setVerb('add')}>
              Make known…
            </button>
          )}
          {mayResume && isOpen && (
            <button type="button" class="primary" onClick={() => setVerb('resume')}>
              Resume…
            </button>
          )}
          {mayForget && !isUnknown && (
            <button type="button" class="danger" onClick={() => setVerb('forget')}>
              Forget…
            </button>
          )}
        </>
      }
    >
      <DepthView of="type" name={name} />
      <LoadedView of={type}>
        {(of) => (
          <>
            <About type={of} />
            <Section title="Settings">
              <SettingsView
                of={`type ${name}`}
                settings={shownSettings(TYPE_SETTINGS, of, defaults.data)}
                path={path}
                onDone={type.reload}
              />
            </Section>
          </>
        )}
      </LoadedView>
      {verb !== undefined && (
        <TypeDialog verb={verb} name={name} onDone={type.reload} onClose={() => setVerb(undefined)} />
      )}
    </Screen>
  );
}

function About({ type }: { readonly type: Type }) {
  const { breaker, breakerOpenedAt, firstSeenAt, lastSeenAt, workers } = type;
  return (
    <Facts
      of={[
        [
          'Handled by',
          workers.length === 0 ? (
            <Status name="unhandled" />
          ) : (
            <ul>
              {workers.map((worker) => (
                <li key={worker}>
                  <a href={hrefTo('workers', [worker])}>
                    <Name text={worker} />
                  </a>
                </li>
              ))}
            </ul>
          ),
        ],
        [
          'Breaker',
          breaker === null && breakerOpenedAt === null ? undefined : breakerOpenedAt === null ? (
            <Status name="closed" />
          ) : (
            <Open type={type} />
          ),
        ],
        ['First seen', <Time at={firstSeenAt} />],
        ['Last seen with a worker', <Time at={lastSeenAt} />],
      ]}
    />
  );
}

function Open({ type: { breakerOpenedAt, breakerProbeAt, breakerProbeId } }: { readonly type: Type }) {
  return (
    <>
      <Status name="breaker open" />{' '}
      <span class="muted">
        <Time at={breakerOpenedAt} />
      </span>
      {', '}
      {breakerProbeId != null ? (
        <a href={hrefTo('task', [breakerProbeId])}>task {breakerProbeId} tries now</a>
      ) : breakerProbeAt != null ? (
        <>
          a task tries <Time at={breakerProbeAt} />
        </>
      ) : (
        'until someone resumes it'
      )}
    </>
  );
}
