import type { SagaEvent } from '../../machine/saga-event.js';
import { returnedKeyFlaw } from '../payload/returned-key.js';
import { serializeError } from '../payload/serialize-error.js';

/** @throws TypeError if the function of a limit's key has returned something else than a key */
export function keyReturned(key: unknown, name: string): string {
  const flaw = returnedKeyFlaw(key);
  if (flaw !== undefined) throw new TypeError(`${name}() ${flaw}`);
  return key as string;
}

/** A function of what is stored already: to ask it again would give the same. */
export function keyFailed({ key: step }: { readonly key: string }, error: unknown, now: number): SagaEvent[] {
  const failed = { kind: 'error', unknown: false, retryable: false, random: 0 } as const;
  return [
    { type: 'step-started', step },
    { type: 'step-failed', step, error: serializeError(error), now, ...failed },
  ];
}
