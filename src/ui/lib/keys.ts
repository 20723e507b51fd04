import { remember, remembered } from './remembered.ts';

/** What a key does: `g t` is a `g` and then a `t`. */
export interface Binding {
  readonly keys: string;
  readonly text: string;
  /** A binding of the screen for these keys takes precedence. */
  readonly isDefault?: boolean;
  run(event: KeyboardEvent): void;
}

const SEQUENCE_MS = 1500;
const OFF = 'single-keys-off';

/** The active keys: those of the frame and those of the screen. */
export class Keys {
  readonly #bindings: Binding[] = [];
  #begun: { readonly key: string; readonly at: number } | undefined;

  /** In the order of the help, each with different keys. */
  get bindings(): readonly Binding[] {
    const own = new Set(this.#bindings.flatMap(({ keys, isDefault }) => (isDefault ? [] : keys)));
    return this.#bindings.filter(({ keys, isDefault }) => !isDefault || !own.has(keys));
  }

  /** Single keys can get in the way of speech input: they can be turned off. */
  get isOn(): boolean {
    return remembered(OFF) === null;
  }

  turn(on: boolean): void {
    remember(OFF, on ? null : 'true');
  }

  add(binding: Binding): () => void {
    this.#bindings.push(binding);
    return () => void this.#bindings.splice(this.#bindings.indexOf(binding), 1);
  }

  /** Runs the binding of a pressed key. */
  press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (!this.isOn || isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
    const begun =
      this.#begun !== undefined && event.timeStamp - this.#begun.at < SEQUENCE_MS ? this.#begun.key : '';
    const keys = begun === '' ? event.key : `${begun} ${event.key}`;
    const binding = this.bindings.find((one) => one.keys === keys);
    const begins = this.#bindings.some((one) => one.keys.startsWith(`${keys} `));
    this.#begun = begins ? { key: keys, at: event.timeStamp } : undefined;
    if (binding === undefined) return;
    event.preventDefault();
    binding.run(event);
  }
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const isText = target instanceof HTMLInputElement && !['checkbox', 'radio', 'button'].includes(target.type);
  return isText || target.matches('textarea, select, [contenteditable]');
}
