import { useState } from 'preact/hooks';
import { note } from '../lib/activity.ts';
import { segment } from '../lib/api.ts';
import { useApp, useMay } from '../lib/app.ts';
import { useLoad } from '../lib/load.ts';
import { hrefTo } from '../lib/place.ts';
import { visible } from '../lib/text.ts';
import { Confirm, sendWithReason } from '../parts/confirm.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Empty, LoadedView } from '../parts/loaded.tsx';
import { Screen } from '../parts/screen.tsx';
import { Status } from '../parts/status.tsx';
import { Command, Name, Time } from '../parts/text.tsx';

/** The answer of `GET tokens`, a token of it. */
interface Token {
  readonly name: string;
  readonly role: string;
  /** Null: all. */
  readonly queues: readonly string[] | null;
  readonly createdAt: string;
  readonly createdBy: string;
  /** Null: never. */
  readonly expiresAt: string | null;
  /** Null: never. */
  readonly lastUsedAt: string | null;
}

const ADD = "taskq tokens add shop --role producer --queues 'mail-*' --expires 90d";

const COLUMNS: readonly Column<Token>[] = [
  { title: 'Token', cell: ({ name }) => <Name text={name} /> },
  { title: 'Role', cell: ({ role }) => role },
  { title: 'Queues', cell: ({ queues }) => (queues === null ? 'all' : <Name text={queues.join(', ')} />) },
  { title: 'Expires', cell: ({ expiresAt }) => <Expiry at={expiresAt} /> },
  {
    title: 'Last used',
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time at={lastUsedAt} />),
  },
  { title: 'Created', isWide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Created by', isWide: true, cell: ({ createdBy }) => <Name text={createdBy} /> },
];

function Expiry({ at }: { readonly at: string | null }) {
  if (at === null) return <>never</>;
  return Date.parse(at) > Date.now() ? <Time at={at} /> : <Status name="expired" />;
}

/** The tokens: who may call the server, and in which role. */
export function TokensScreen() {
  const list = useLoad<{ readonly tokens: readonly Token[] }>('tokens');
  const [revoked, setRevoked] = useState<string>();
  const revoking: Column<Token> = {
    title: 'Action',
    align: 'end',
    cell: ({ name }) => (
      <button
        type="button"
        class="danger"
        aria-label={`Revoke ${visible(name)}`}
        onClick={() => setRevoked(name)}
      >
        Revoke
      </button>
    ),
  };
  const columns = useMay('admin') ? [...COLUMNS, revoking] : COLUMNS;
  return (
    <Screen title="Tokens">
      <LoadedView of={list}>
        {({ tokens }) =>
          tokens.length === 0 ? (
            <Empty text="There is no token." command={ADD} />
          ) : (
            <>
              <DataTable
                caption="Tokens by name"
                rows={tokens}
                columns={columns}
                keyOf={({ name }) => name}
              />
              <div>
                <p class="hint">A new token is printed once, where you make it:</p>
                <Command text={ADD} />
              </div>
            </>
          )
        }
      </LoadedView>
      {revoked !== undefined && (
        <RevokeDialog name={revoked} onDone={list.reload} onClose={() => setRevoked(undefined)} />
      )}
    </Screen>
  );
}

interface RevokeDialogProps {
  readonly name: string;
  onDone(): void;
  onClose(): void;
}

function RevokeDialog({ name, onDone, onClose }: RevokeDialogProps) {
  const { activity } = useApp();
  const run = async (form: FormData) => {
    await sendWithReason(form, 'POST', `tokens/${segment(name)}/revoke`);
    note(activity, { text: `revoked token ${visible(name)}`, href: hrefTo('audit') });
    onDone();
  };
  return (
    <Confirm {...{ title: 'Revoke the token', verb: 'Revoke token', isDestructive: true, run, onClose }}>
      <p>
        Every program and person that uses token <strong>{visible(name)}</strong> is refused from now on. This
        cannot be undone.
      </p>
    </Confirm>
  );
}
