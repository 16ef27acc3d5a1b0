import type { Checkpoint } from '../../../engine/ports/saga-store.js';
import type { Durability } from '../../../definition/options/saga-options.js';
import type { StoreCall } from './hot-calls.js';
import { inLockOrder } from './in-lock-order.js';
import type { Statements } from '../statements.js';

/**
 * The same statement, whose transaction does not wait for the disk. In the same round trip: what counts is the setting at
 * commit, so it does not matter when within the statement it is set.
 */
export const relaxedSql = (select: string): string =>
  select.replace('SELECT', `SELECT set_config('synchronous_commit', 'off', true),`);

/**
 * The same call of a function, once those are fenced off whose last checkpoint is gone: FROM comes before what is selected.
 * @param parameters of the call
 */
export const fencingSql = (schema: string, select: string, parameters: number): string =>
  `${select} FROM ${schema}.fence_lost_1($${parameters + 1}, $${parameters + 2}, $${parameters + 3})`;

/** What `fencingSql` takes beside the call's own. */
function fencingParameters(checkpoints: readonly Checkpoint[]): unknown[][] {
  const relaxed = inLockOrder(checkpoints.filter(({ after }) => after !== undefined));
  return [relaxed.map(({ id }) => id), relaxed.map(({ epoch }) => epoch), relaxed.map(({ after }) => after)];
}

/** The call that stores these checkpoints, as their durability has it. */
export function relaxedCall(
  call: StoreCall,
  checkpoints: readonly Checkpoint[],
  durability: Durability | undefined,
  { schema, sql }: { readonly schema: string; readonly sql: Statements },
): StoreCall {
  const isRelaxed = durability === 'relaxed';
  if (!isRelaxed && checkpoints.every(({ after }) => after === undefined)) return call;
  const { statement } = call;
  const parameters = [...call.parameters, ...fencingParameters(checkpoints)];
  if (isRelaxed && (statement === 'checkpoint' || statement === 'checkpointOne'))
    return { statement: `${statement}Relaxed`, parameters };
  const fencing = fencingSql(`"${schema}"`, sql[statement], call.parameters.length);
  return { statement, text: isRelaxed ? relaxedSql(fencing) : fencing, parameters };
}
