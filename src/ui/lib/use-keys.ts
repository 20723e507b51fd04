import { useLayoutEffect, useRef } from 'preact/hooks';
import { useApp } from './app.ts';
import type { Binding } from './keys.ts';

/** Lets keys do something as long as the component is shown. */
export function useKeys(bindings: readonly Binding[]): void {
  const { keys } = useApp();
  const latest = useRef(bindings);
  latest.current = bindings;
  const names = bindings.map((one) => one.keys).join();
  // By their keys; what they do is the latest. They work as soon as what they are about is there.
  useLayoutEffect(() => {
    const removals = latest.current.map((binding, index) =>
      keys.add({ ...binding, run: (event) => latest.current[index]?.run(event) }),
    );
    return () => {
      for (const remove of removals) remove();
    };
  }, [keys, names]);
}
