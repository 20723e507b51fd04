import { segment } from '../lib/api.ts';
import { useApp } from '../lib/app.ts';
import { useLoad } from '../lib/load.ts';
import type { TaskDetails } from '../lib/task.ts';
import { JsonView } from '../parts/json-view.tsx';
import { LoadedView } from '../parts/loaded.tsx';
import { Screen } from '../parts/screen.tsx';

/** A task with everything that is known of it. */
export function TaskScreen() {
  const { place } = useApp();
  const [id = ''] = place.names;
  const task = useLoad<TaskDetails>(`tasks/${segment(id)}`);
  return (
    <Screen title={`Task ${id}`}>
      <LoadedView of={task}>{({ payload }) => <JsonView value={payload} what="the payload" />}</LoadedView>
    </Screen>
  );
}
