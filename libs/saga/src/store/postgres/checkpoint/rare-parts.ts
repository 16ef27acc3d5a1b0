import type { Checkpoint } from '../../../engine/ports/checkpoint.js';
import type { Writes } from '../statements.js';
import type { StoreCall } from './prepared-calls.js';
import { Select } from './select.js';
import { tasksCall } from './tasks-statement.js';

interface Around {
  readonly schema: string;
  readonly writes: Writes;
}

/**
 * The call that stores these checkpoints, and in the same statement what few of them have: changed tasks, tags that steps
 * have set, and paused steps for which they come to rest. Each is one more function, so that others cost nothing for it.
 */
export function withRareParts(call: StoreCall, checkpoints: readonly Checkpoint[], on: Around): StoreCall {
  let whole = tasksCall(call, checkpoints, on);
  const tagged = checkpoints.filter(({ tags }) => tags !== undefined);
  if (tagged.length > 0)
    whole = around(whole, on, 'set_tags', [
      tagged.map(({ id }) => id),
      tagged.map(({ tags }) => JSON.stringify(tags)),
    ]);
  const held = checkpoints.flatMap(({ id, heldBy = [] }) => heldBy.map((step) => [id, step] as const));
  if (held.length > 0)
    whole = around(whole, on, 'rest_while_paused', [held.map(([id]) => id), held.map(([, step]) => step)]);
  return whole;
}

/** Calls a function with what the call returns, ids, and a text for each. */
function around(
  { statement, select, parameters }: StoreCall,
  { schema, writes }: Around,
  name: string,
  [ids, texts]: [string[], string[]],
): StoreCall {
  const stored = `(SELECT c.saved FROM (${(select ?? writes[statement]).text}) AS c)`;
  const [first, second] = [parameters.length + 1, parameters.length + 2];
  return {
    statement,
    select: new Select(`"${schema}".${name}(${stored}, $${first}::uuid[], $${second}::text[]) AS saved`),
    parameters: [...parameters, ids, texts],
  };
}
