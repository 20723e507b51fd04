import type { Again, Cancel, Dead, Retry, Snooze } from './signals.ts';
import type { StandardSchema } from './standard-schema.ts';

/** Handlers by type, functions or definitions; only their parameter and return types matter here. */
export type HandlerMap = Readonly<Record<string, MappedHandler>>;

type MappedHandler = RunFunction | { readonly schema?: StandardSchema; readonly run: RunFunction };

type RunFunction = (payload: never, ctx: never) => unknown;

/** The types of payload and result if no handlers are named: unknown. */
export type UnknownHandlers = Readonly<Record<string, (payload: unknown, ctx: never) => unknown>>;

export type TypeOf<Handlers> = keyof Handlers & string;

/** The payload that a producer passes: its schema's input, or else the type of the handler's first parameter. */
export type PayloadOf<Handlers, Type extends keyof Handlers> = Handlers[Type] extends {
  readonly schema?: StandardSchema<infer Input, infer _Output>;
}
  ? unknown extends Input
    ? ParameterOf<Handlers[Type]>
    : Input
  : ParameterOf<Handlers[Type]>;

type ParameterOf<Handler> = Handler extends { run(payload: infer Payload, ...rest: never): unknown }
  ? Payload
  : Handler extends (payload: infer Payload, ...rest: never) => unknown
    ? Payload
    : unknown;

/** The stored result of a handler's tasks. */
export type ResultOf<Handlers, Type extends keyof Handlers> = Handlers[Type] extends
  | { run(...args: never): infer Returned }
  | ((...args: never) => infer Returned)
  ? Stored<Exclude<Awaited<Returned>, Retry | Dead | Snooze | Cancel | Again>>
  : unknown;

/**
 * A value after a round trip through JSON: a Date becomes text, undefined becomes null, and a property without a JSON
 * form is left out.
 */
export type Stored<Value> = Value extends string | number | boolean | null
  ? Value
  : Value extends void
    ? null
    : Value extends bigint
      ? string
      : Value extends { toJSON(): infer Json }
        ? Json
        : Value extends readonly unknown[]
          ? { [Index in keyof Value]: Stored<Value[Index]> }
          : Value extends object
            ? {
                [Key in keyof Value as Value[Key] extends symbol | RunFunction ? never : Key]: StoredProperty<
                  Value[Key]
                >;
              }
            : unknown;

type StoredProperty<Value> = Value extends undefined ? undefined : Stored<Value>;
