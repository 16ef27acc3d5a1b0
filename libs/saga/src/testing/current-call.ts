import { AsyncLocalStorage } from 'node:async_hooks';
import { SagaConfigurationError } from '../errors.js';
import type { ServiceRuntime } from '../nest/assemble-engine.js';

/** A method of a saga that was called. */
export interface TestCall {
  /** The saga's name. */
  readonly saga: string;
  /** The saga's id. */
  readonly id: string;
  /** Whose method it is. */
  readonly step: string;
  /** The step's own method has its name; otherwise its compensation, or its probe. */
  readonly method: string;
  /** The index of the item of a fan-out. */
  readonly index?: number;
  /** 1, 2, … */
  readonly attempt: number;
  /** As the method was given it. */
  readonly idempotencyKey: string;
  /** `unknown`: it timed out, whatever it has done. Undefined: it has not come back. */
  outcome?: 'completed' | 'failed' | 'unknown';
  /** What it threw. */
  error?: unknown;
}

/** A method of a saga that is called, and the world in which. Tests that run side by side share their providers. */
interface CurrentCall {
  readonly world: ServiceRuntime;
  readonly call: TestCall;
}

const current = new AsyncLocalStorage<CurrentCall>();

export const currentCall = (): CurrentCall | undefined => current.getStore();

/** Calls a method of a saga; what it injects finds the world by this. */
export function withinCall<T>(call: CurrentCall, method: () => T): T {
  return current.run(call, method);
}

/** What injected services ask for their parts: every call goes to the world of the method that makes it. */
export const currentWorld: ServiceRuntime = {
  ready: async () => {
    const call = currentCall();
    if (call) return call.world.ready();
    throw new SagaConfigurationError(
      `A service of SagaModule was called outside of a saga's method. In a SagaTest each run has its own store, which provider hooks ` +
        `and the test itself cannot use. In the test, call run.sagas or run.operations instead.`,
    );
  },
};
