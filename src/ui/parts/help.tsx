import { useState } from 'preact/hooks';
import { useApp } from '../lib/app.ts';
import { useKeys } from '../lib/use-keys.ts';
import { Dialog } from './dialog.tsx';

/** The button and the key that list all keys. */
export function Help() {
  const { keys } = useApp();
  const [isOpen, setOpen] = useState(false);
  useKeys([{ keys: '?', text: 'this help', run: () => setOpen(true) }]);
  return (
    <>
      <button type="button" class="quiet" onClick={() => setOpen(true)}>
        Keys <kbd>?</kbd>
      </button>
      {isOpen && (
        <Dialog title="Keys" onClose={() => setOpen(false)}>
          <dl class="keys">
            {[...new Map([...keys.bindings, ...NATIVE].map((one) => [one.keys, one])).values()].map(
              ({ keys: pressed, text }) => (
                <div key={pressed}>
                  <dt>
                    {pressed.split(' ').map((key) => (
                      <kbd key={key}>{key}</kbd>
                    ))}
                  </dt>
                  <dd>{text}</dd>
                </div>
              ),
            )}
          </dl>
          <label class="check">
            <input
              type="checkbox"
              defaultChecked={keys.isOn}
              onChange={({ currentTarget }) => keys.turn(currentTarget.checked)}
            />
            Single keys are on
          </label>
          <div class="buttons">
            <button type="button" onClick={() => setOpen(false)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** Keys that the browser handles by itself. */
const NATIVE = [
  { keys: 'Enter', text: 'open the row' },
  { keys: 'Escape', text: 'close a dialog' },
];
