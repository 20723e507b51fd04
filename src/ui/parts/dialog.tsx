import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

interface DialogProps {
  readonly title: string;
  onClose(): void;
  readonly children: ComponentChildren;
}

/** A modal dialog. Escape closes it, and the focus returns to where it was. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const label = useId();
  useLayoutEffect(() => {
    const { current } = dialog;
    const before = document.activeElement;
    current?.showModal();
    return () => {
      current?.close();
      const isLost = !(before instanceof HTMLElement && before.isConnected);
      (isLost ? document.querySelector<HTMLElement>('h1') : before)?.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={label} onClose={onClose}>
      <h2 id={label}>{title}</h2>
      {children}
    </dialog>
  );
}
