import { AsyncLocalStorage } from 'node:async_hooks';
import { TestEnvironment } from 'jest-environment-node';

/** Those that the running spec has stored something in. */
const used = new Set();
for (const method of ['run', 'enterWith']) {
  const original = AsyncLocalStorage.prototype[method];
  AsyncLocalStorage.prototype[method] = function (...args) {
    used.add(this);
    return original.apply(this, args);
  };
}

/**
 * Jest's environment of Node, which also ends each AsyncLocalStorage of a spec with the spec. Until Node 24, every Promise of
 * the process pays for each one that was ever used, and a worker runs a hundred specs, with new ones in each.
 */
export default class SpecEnvironment extends TestEnvironment {
  async teardown() {
    for (const storage of used) storage.disable();
    used.clear();
    await super.teardown();
  }
}
