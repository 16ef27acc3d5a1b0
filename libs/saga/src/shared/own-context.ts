import { AsyncResource } from 'node:async_hooks';

/** AsyncLocalStorage of an application has no value here: the package is loaded before a request begins. */
const OUTSIDE = new AsyncResource('Saga');

/** Calls a function so that what it enters (`enterWith` of AsyncLocalStorage) ends with the call. Costs 30 ns. */
export function isolated<T>(call: () => T): T {
  return new AsyncResource('Saga').runInAsyncScope(call);
}

/**
 * Calls a function, now, where AsyncLocalStorage has no value. A context of cls-hooked can be left by `inOwnContext` only.
 */
export function withoutContext<T>(call: () => T): T {
  return OUTSIDE.runInAsyncScope(isolated<T>, undefined, call);
}

/** The calls that the loop of the library's own context takes next. */
let calls: (() => void)[] = [];
let wake: () => void;

/**
 * Takes the calls of all callers. The continuations are created here, and not where they are requested: so they belong to
 * no caller.
 */
async function takeCalls(): Promise<never> {
  for (;;) {
    // A call that is taken may make others.
    if (calls.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    takeEach();
  }
}

/** A function of its own: while the loop waits, its variables stay, and would hold all that the last calls refer to. */
function takeEach(): void {
  const taken = calls;
  calls = [];
  for (const call of taken) isolated(call);
}

void takeCalls();

/**
 * Calls a function in the library's own asynchronous context, in the next microtask. Promises, timers and queues that it makes
 * belong to that context, so that the values and the transaction of a caller do not reach the sagas of others. Nothing is
 * enabled for it: an application without AsyncLocalStorage pays for the call only.
 */
export function inOwnContext<T>(call: () => T | PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    calls.push(() => {
      try {
        resolve(call());
      } catch (error) {
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what the call threw
        reject(error);
      }
    });
    if (calls.length === 1) wake();
  });
}

type AsyncMethod<Instance> = {
  [Name in keyof Instance]: Instance[Name] extends (...given: never[]) => Promise<unknown> ? Name : never;
}[keyof Instance];

type OtherMethod<Instance> = {
  [Name in keyof Instance]: Instance[Name] extends (...given: never[]) => unknown ? Name : never;
}[keyof Instance];

/**
 * Class decorator: each method runs in the library's own context, whatever context it is called in.
 * @param inCallers the methods that run in the context of their callers: all that return no promise, and some others
 */
export function OwnContext<Instance>(inCallers: InCallers<Instance>) {
  return ({ prototype }: { readonly prototype: Instance }): void => {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (typeof descriptor.value !== 'function' || name === 'constructor' || name in inCallers) continue;
      const method = descriptor.value as (this: Instance, ...given: unknown[]) => unknown;
      function inOwn(this: Instance, ...given: unknown[]): Promise<unknown> {
        return inOwnContext(() => method.apply(this, given));
      }
      Object.defineProperty(prototype, name, { ...descriptor, value: inOwn });
    }
  };
}

type InCallers<Instance> = Readonly<
  Record<Exclude<OtherMethod<Instance>, AsyncMethod<Instance>>, true> &
    Partial<Record<AsyncMethod<Instance>, true>>
>;
