import { useRef, useState } from 'preact/hooks';
import { note } from '../../lib/activity.ts';
import { ApiProblem, get, segment, withQuery } from '../../lib/api.ts';
import { useApp } from '../../lib/app.ts';
import { JsonText, parseJson, stringifyJson } from '../../lib/json.ts';
import { problemOf } from '../../lib/load.ts';
import { hrefTo } from '../../lib/place.ts';
import { optionsOf, type Preview, type Schedule } from '../../lib/schedule.ts';
import { visible } from '../../lib/text.ts';
import { Confirm, sendWithReason } from '../../parts/confirm.tsx';
import { Field, textOf } from '../../parts/fields.tsx';
import { ProblemView } from '../../parts/problem.tsx';

interface ScheduleFormProps {
  /** The schedule to replace; undefined: a new one. */
  readonly of?: Schedule;
  onDone(name: string): void;
  onClose(): void;
}

/** Adds a schedule, or replaces what it enqueues and when. */
export function ScheduleForm({ of, onDone, onClose }: ScheduleFormProps) {
  const { activity } = useApp();
  const run = async (form: FormData) => {
    const name = of?.name ?? textOf(form, 'name') ?? '';
    await sendWithReason(form, 'PUT', `schedules/${segment(name)}`, bodyOf(form));
    note(activity, { text: `set schedule ${visible(name)}`, href: hrefTo('audit') });
    onDone(name);
  };
  return (
    <Confirm
      title={of === undefined ? 'Add a schedule' : `Edit schedule ${visible(of.name)}`}
      verb={of === undefined ? 'Add schedule' : 'Save schedule'}
      {...{ run, onClose }}
    >
      {(problem) => (
        <>
          {of === undefined && <Field label="Name" name="name" isRequired problem={problem} />}
          <Field
            label="Expression"
            name="expression"
            isRequired
            placeholder="30 2 * * MON-FRI"
            hint="Cron of 5 or 6 fields (seconds first), @daily and the like, or @every 90s."
            {...{ value: of?.expression ?? '', problem }}
          />
          <Field label="Time zone" name="tz" {...{ value: of?.tz ?? 'UTC', problem }} />
          <NextTicks name={of?.name ?? 'new'} />
          <Field label="Type" name="type" isRequired {...{ value: of?.type ?? '', problem }} />
          <Field
            label="Payload, JSON"
            name="payload"
            lines={4}
            {...{ value: stringifyJson(of?.payload ?? {}, '  '), problem }}
          />
          <Field
            label="If the task of an earlier tick is live"
            name="overlap"
            options={[
              ['allow', 'allow: both run'],
              ['skip', 'skip this tick'],
              ['replace', 'replace that task'],
            ]}
            {...{ value: of?.overlap ?? 'allow', problem }}
          />
          <Field
            label="Missed ticks that fire late"
            name="missed"
            hint="skip, latest, all, or all:n"
            {...{ value: of?.missed ?? 'latest', problem }}
          />
          <Field
            label="Jitter"
            name="jitter"
            {...{ value: of === undefined ? '0s' : `${of.jitterMs}ms`, problem }}
          />
          <Field
            label="Options of its tasks, JSON"
            name="options"
            lines={3}
            hint="Such as {&quot;queue&quot;: &quot;mail&quot;, &quot;maxAttempts&quot;: 3}."
            {...{ value: stringifyJson(of === undefined ? {} : optionsOf(of), '  '), problem }}
          />
        </>
      )}
    </Confirm>
  );
}

function bodyOf(form: FormData): object {
  const fields = ['expression', 'tz', 'type', 'overlap', 'missed', 'jitter'];
  return {
    ...(parseJson(jsonOf(form, 'options')) as object),
    ...Object.fromEntries(fields.map((name) => [name, textOf(form, name)])),
    payload: new JsonText(jsonOf(form, 'payload')),
  };
}

/** The JSON of a field, as typed. Throws ApiProblem if it is not JSON. */
function jsonOf(form: FormData, name: string): string {
  const text = textOf(form, name) ?? '{}';
  try {
    parseJson(text);
    return text;
  } catch (error) {
    const { message } = error as SyntaxError;
    throw new ApiProblem(400, {
      ...{ code: 'bad_json', detail: `${name}: ${message}` },
      errors: [{ pointer: `/${name}`, detail: message }],
    });
  }
}

/** Explains the expression of the surrounding form. */
function NextTicks({ name }: { readonly name: string }) {
  const button = useRef<HTMLButtonElement>(null);
  const [preview, setPreview] = useState<Preview>();
  const [problem, setProblem] = useState<ApiProblem>();
  const look = () => {
    const form = new FormData(button.current!.form!);
    const query = { expression: textOf(form, 'expression') ?? '', tz: textOf(form, 'tz'), count: 3 };
    // Without an expression, the answer would be for the schedule's own.
    if (query.expression === '') return;
    get<Preview>(withQuery(`schedules/${segment(name)}/preview`, query)).then(
      (found) => {
        setPreview(found);
        setProblem(undefined);
      },
      (error: unknown) => setProblem(problemOf(error)),
    );
  };
  return (
    <div class="field" role="status">
      <div>
        <button ref={button} type="button" class="small" onClick={look}>
          Show next ticks
        </button>
      </div>
      {problem !== undefined && <ProblemView problem={problem} />}
      {problem === undefined && preview !== undefined && (
        <ul>
          {preview.ticks.map(({ tick, local }) => (
            <li class="mono" key={tick}>
              {local}
            </li>
          ))}
          {preview.ticks.length === 0 && <li>It never fires.</li>}
        </ul>
      )}
    </div>
  );
}
