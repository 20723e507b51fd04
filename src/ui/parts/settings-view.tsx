import { useState } from 'preact/hooks';
import { useMay } from '../lib/app.ts';
import { type Setting, settingOf, settingText } from '../lib/settings.ts';
import type { ShownSetting } from '../lib/shown-settings.ts';
import { visible } from '../lib/text.ts';
import { type Column, DataTable } from './data-table.tsx';
import { Field, textOf } from './fields.tsx';
import { SendDialog } from './send-dialog.tsx';
import { Name } from './text.tsx';

interface SettingsViewProps {
  /** Their owner, such as `queue mail`. */
  readonly of: string;
  readonly settings: readonly ShownSetting[];
  /** Takes the changes by PATCH. */
  readonly path: string;
  onDone(): void;
}

const keyOf = ({ name }: Setting) => name;

/** Settings with the values that apply and their sources. A caller who may can change them one by one. */
export function SettingsView({ of, settings, path, onDone }: SettingsViewProps) {
  const [edited, edit] = useState<ShownSetting>();
  const mayEdit = useMay('admin');
  const columns: readonly Column<ShownSetting>[] = [
    { title: 'Setting', cell: ({ label }) => label },
    {
      title: 'Value',
      cell: ({ value, applies }) => (
        <span class={value == null ? 'muted' : ''}>
          <Name text={applies} />
        </span>
      ),
    },
    { title: 'From', isWide: true, cell: ({ from }) => <Name text={from} /> },
    {
      title: 'Change',
      cell: (setting) => (
        <button type="button" class="quiet small" onClick={() => edit(setting)}>
          Edit<span class="unseen"> {setting.label}</span>
        </button>
      ),
    },
  ];
  return (
    <>
      <DataTable
        caption={`Settings of ${visible(of)}; what is muted is not set here`}
        columns={mayEdit ? columns : columns.slice(0, -1)}
        rows={settings}
        keyOf={keyOf}
      />
      {edited !== undefined && (
        <SendDialog
          title={`${edited.label}, ${visible(of)}`}
          verb="Save"
          method="PATCH"
          path={path}
          bodyOf={(form) => ({ [edited.name]: settingOf(textOf(form, 'value') ?? '') })}
          done={`changed ${edited.label} of ${of}`}
          onDone={onDone}
          onClose={() => edit(undefined)}
        >
          {(problem) => (
            <Field
              label={edited.label}
              name="value"
              pointer={edited.name}
              value={settingText(edited, edited.value) ?? ''}
              placeholder={edited.applies}
              hint={`${edited.hint}. Empty: what applies without it.`}
              problem={problem}
              {...(edited.options && {
                options: [['', 'not set'] as const, ...edited.options],
              })}
            />
          )}
        </SendDialog>
      )}
    </>
  );
}
