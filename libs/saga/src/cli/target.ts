import type { SagaTarget } from '../nest/calls/saga-calls.js';
import { isUuid } from '../engine/payload/storable-key.js';
import type { OperatorSession } from './operator-session.js';
import { UsageError } from './usage-error.js';

export const TARGET = '<target>';

/**
 * A saga's id, or `<saga>/<correlation id>`. Both parts may have slashes of their own: a name that was deployed is
 * taken for one, otherwise all up to the first slash.
 */
export function readTarget(written: string, { deployed }: Pick<OperatorSession, 'deployed'>): SagaTarget {
  const named = deployed.map(({ name }) => name).filter((name) => written.startsWith(`${name}/`));
  const saga = named.sort((a, b) => b.length - a.length)[0] ?? written.split('/')[0]!;
  const correlationId = written.slice(saga.length + 1);
  if (saga !== '' && correlationId !== '') return { saga, correlationId };
  const isId: boolean = isUuid(written);
  if (isId) return written;
  throw new UsageError(`'${written}' is not a target; give a saga's id, or <saga>/<correlation id>`);
}
