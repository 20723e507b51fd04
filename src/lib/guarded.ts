import { messageOf } from './thrown.ts';

/**
 * Wraps a listener of the application, so that its errors and rejections do not reach the caller. The first such error
 * is emitted as a process warning, `<name> threw: …`; later ones are ignored.
 */
export function guarded<Value>(name: string, listener: (value: Value) => unknown): (value: Value) => void {
  let hasThrown = false;
  const complain = (thrown: unknown) => {
    if (hasThrown) return;
    hasThrown = true;
    process.emitWarning(`${name} threw: ${messageOf(thrown)}`, 'TaskqWarning');
  };
  return (value) => {
    try {
      const answer = listener(value);
      if (answer instanceof Promise) answer.catch(complain);
    } catch (thrown) {
      complain(thrown);
    }
  };
}
