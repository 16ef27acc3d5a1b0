import type { Checkpoint } from '../../../engine/ports/checkpoint.js';
import type { Durability } from '../../../definition/options/saga-options.js';
import type { StoreCall } from './prepared-calls.js';
import { inLockOrder } from './in-lock-order.js';
import { fenced, relaxed } from './relaxed.sql.js';
import type { Writes } from '../statements.js';

/** What `fenced` takes beside the call's own. */
function fencingParameters(checkpoints: readonly Checkpoint[]): unknown[][] {
  const ordered = inLockOrder(checkpoints.filter(({ after }) => after !== undefined));
  return [
    ...[ordered.map(({ id }) => id), ordered.map(({ epoch }) => epoch)],
    ...[ordered.map(({ after }) => after), ordered.map(({ holder }) => holder ?? null)],
  ];
}

/** The call that stores these checkpoints, as their durability has it. */
export function relaxedCall(
  call: StoreCall,
  checkpoints: readonly Checkpoint[],
  durability: Durability | undefined,
  { schema, writes }: { readonly schema: string; readonly writes: Writes },
): StoreCall {
  const isRelaxed = durability === 'relaxed';
  if (!isRelaxed && checkpoints.every(({ after }) => after === undefined)) return call;
  const { statement } = call;
  const parameters = [...call.parameters, ...fencingParameters(checkpoints)];
  const isHot = call.select === undefined && (statement === 'checkpoint' || statement === 'checkpointOne');
  if (isRelaxed && isHot) return { statement: `${statement}Relaxed`, parameters };
  const select = fenced(`"${schema}"`, call.select ?? writes[statement], call.parameters.length);
  return { statement, select: isRelaxed ? relaxed(select) : select, parameters };
}
