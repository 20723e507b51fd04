import { useCallback } from 'preact/hooks';
import { note } from './activity.ts';
import { useApp } from './app.ts';
import { problemOf } from './load.ts';
import { hrefTo } from './place.ts';

export type Act = (text: string, work: () => Promise<unknown>) => Promise<boolean>;

/** Returns a function that does something at once, and shows the result to the user. */
export function useAct(): Act {
  const { activity } = useApp();
  return useCallback(
    async (text, work) => {
      try {
        await work();
        note(activity, { text, href: hrefTo('audit') });
        return true;
      } catch (error) {
        note(activity, { text: `${text}: ${problemOf(error).message}`, isFailure: true });
        return false;
      }
    },
    [activity],
  );
}
