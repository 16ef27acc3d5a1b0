import { AsyncLocalStorage } from 'node:async_hooks';
import type { Rng } from './rng.js';

/** The name of all tenants, to be left out of scenarios that are older. */
export const TENANTS = 'tenants';

const COUNT = 3;
const current = new AsyncLocalStorage<string>();

/** The tenants of an application: each calls it in an asynchronous context of its own. In one of ten scenarios. */
export class Tenants {
  private readonly areThere: boolean;

  constructor(chance: Rng, isLeftOut: (name: string) => boolean) {
    this.areThere = chance.for(TENANTS).happens(0.1) && !isLeftOut(TENANTS);
  }

  /** @param n chooses the tenant */
  call<T>(n: number, call: () => T): T {
    return this.areThere ? current.run(`tenant ${n % COUNT}`, call) : call();
  }

  /** The tenant in whose context this is called. Undefined: none. */
  get caller(): string | undefined {
    return this.areThere ? current.getStore() : undefined;
  }

  /** What a timer calls is called in the context in which the timer was set. */
  readonly bound = (call: () => void): (() => void) => {
    if (!this.areThere) return call;
    // AsyncLocalStorage.bind takes 50 times as long.
    const inContext = AsyncLocalStorage.snapshot();
    return () => inContext(call);
  };

  /** Nothing costs anything for it any more. */
  end(): void {
    if (this.areThere) current.disable();
  }
}
