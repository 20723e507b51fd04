import { render } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { Frame } from './frame.tsx';
import type { Activity } from './lib/activity.ts';
import type { ApiProblem } from './lib/api.ts';
import { get } from './lib/api.ts';
import { AppContext, type Caller } from './lib/app.ts';
import { Keys } from './lib/keys.ts';
import { openLive } from './lib/live.ts';
import { problemOf } from './lib/load.ts';
import { placeOf } from './lib/place.ts';
import { Store } from './lib/store.ts';
import { applyTheme, chosenTheme } from './lib/theme.ts';
import { Skeleton } from './parts/loaded.tsx';
import { ProblemView } from './parts/problem.tsx';

const RETRY_MS = 3000;

/** Asks the server who the caller is, and shows the screens for that caller. */
function Start() {
  const [caller, setCaller] = useState<Caller>();
  const [problem, setProblem] = useState<ApiProblem>();
  const [round, setRound] = useState(0);
  // Each round asks again.
  useEffect(() => {
    let retry: ReturnType<typeof setTimeout> | undefined;
    get<Caller>('caller').then(setCaller, (error: unknown) => {
      setProblem(problemOf(error));
      retry = setTimeout(() => setRound(round + 1), RETRY_MS);
    });
    return () => clearTimeout(retry);
  }, [round]);
  if (caller !== undefined) return <Screens caller={caller} />;
  return <main>{problem === undefined ? <Skeleton /> : <ProblemView problem={problem} />}</main>;
}

function Screens({ caller }: { readonly caller: Caller }) {
  const [place, setPlace] = useState(placeOf(location.hash));
  const shared = useMemo(
    () => ({ live: openLive(), keys: new Keys(), activity: new Store<readonly Activity[]>([]) }),
    [],
  );
  useLayoutEffect(() => {
    const onMove = () => setPlace(placeOf(location.hash));
    const onKey = (event: KeyboardEvent) => shared.keys.press(event);
    addEventListener('hashchange', onMove);
    addEventListener('keydown', onKey);
    return () => {
      removeEventListener('hashchange', onMove);
      removeEventListener('keydown', onKey);
    };
  }, [shared]);
  const app = useMemo(() => ({ ...shared, caller, place }), [shared, caller, place]);
  return (
    <AppContext.Provider value={app}>
      <Frame />
    </AppContext.Provider>
  );
}

applyTheme(chosenTheme());
render(<Start />, document.getElementById('app')!);
