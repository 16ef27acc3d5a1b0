import type { Checkpoint } from '../../../engine/ports/checkpoint.js';
import type { Durability } from '../../../definition/options/saga-options.js';
import type { StoreCall } from './prepared-calls.js';
import { inLockOrder } from './in-lock-order.js';
import { fencingSql, relaxedSql } from './relaxed.sql.js';
import type { Statements } from '../statements.js';

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
