import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { ApiProblem } from '../lib/api.ts';
import { visible } from '../lib/text.ts';

interface FieldProps {
  readonly label: string;
  readonly name: string;
  readonly value?: string;
  readonly hint?: ComponentChildren;
  /** The problem of the last try: its errors about this field are shown here. */
  readonly problem?: ApiProblem | undefined;
  /** The member of the body that the field fills; default: its name. */
  readonly pointer?: string;
  readonly isRequired?: boolean;
  readonly placeholder?: string;
  /** The number of lines; default: one. */
  readonly lines?: number;
  readonly options?: readonly (string | readonly [value: string, text: string])[];
}

/** A field of a form with its label, its hint and its error. */
export function Field({ label, name, hint, problem, pointer = name, ...props }: FieldProps) {
  const id = useId();
  const fault = problem?.at(pointer);
  const described = [hint !== undefined && `${id}h`, fault !== undefined && `${id}f`]
    .filter(Boolean)
    .join(' ');
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Input
        {...props}
        {...{ id, name }}
        aria-invalid={fault !== undefined}
        aria-describedby={described || undefined}
      />
      {hint !== undefined && (
        <p class="hint" id={`${id}h`}>
          {hint}
        </p>
      )}
      {fault !== undefined && (
        <p class="fault" id={`${id}f`}>
          {visible(fault)}
        </p>
      )}
    </div>
  );
}

type InputProps = Pick<FieldProps, 'name' | 'value' | 'isRequired' | 'placeholder' | 'lines' | 'options'> & {
  readonly id: string;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string | undefined;
};

function Input({ value = '', isRequired = false, lines, options, ...same }: InputProps) {
  const shared = { ...same, required: isRequired, autocomplete: 'off' } as const;
  if (options !== undefined)
    return (
      <select {...shared} value={value}>
        {options.map((option) => {
          const [of, text] = typeof option === 'string' ? [option, option] : option;
          return (
            <option key={of} value={of}>
              {text}
            </option>
          );
        })}
      </select>
    );
  if (lines !== undefined)
    return <textarea {...shared} rows={lines} spellcheck={false} defaultValue={value} />;
  return <input {...shared} spellcheck={false} defaultValue={value} />;
}

/** The text of a field without space around it; undefined: it is empty. */
export function textOf(form: FormData, name: string): string | undefined {
  const text = String(form.get(name) ?? '').trim();
  return text === '' ? undefined : text;
}
