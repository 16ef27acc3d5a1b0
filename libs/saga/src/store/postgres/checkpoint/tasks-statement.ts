import type { Checkpoint } from '../../../engine/ports/checkpoint.js';
import { parameterList } from './call.sql.js';
import { inLockOrder } from './in-lock-order.js';
import type { StoreCall } from './prepared-calls.js';
import { TASKS_ARGUMENTS } from '../schema/functions/tasks.function.js';
import type { Writes } from '../statements.js';

/**
 * Returns a call that also stores the steps that wait for a decision, if that changes with one of these checkpoints. It
 * rarely does, so no checkpoint has parameters for it.
 */
export function tasksCall(
  call: StoreCall,
  checkpoints: readonly Checkpoint[],
  { schema, writes }: { readonly schema: string; readonly writes: Writes },
): StoreCall {
  if (checkpoints.every(({ openApprovals }) => openApprovals === undefined)) return call;
  const { statement, parameters } = call;
  const first = parameters.length + 1;
  const tasks = `"${schema}".tasks(${parameterList(first, TASKS_ARGUMENTS)}) AS tasks`;
  return {
    statement,
    select: writes[statement].then(tasks),
    parameters: [...parameters, ...tasksParameters(checkpoints)],
  };
}

function tasksParameters(checkpoints: readonly Checkpoint[]): unknown[][] {
  const changing = inLockOrder(checkpoints.filter(({ openApprovals }) => openApprovals !== undefined));
  const open = changing.flatMap(({ id, openApprovals }) => openApprovals!.map((one) => ({ id, ...one })));
  return [
    ...[
      changing.map(({ id }) => id),
      changing.map(({ epoch }) => epoch),
      changing.map(({ number }) => number),
    ],
    ...[open.map(({ id }) => id), open.map(({ step }) => step), open.map(({ since }) => since)],
  ];
}
