import type { Durability } from '../../../definition/options/saga-options.js';
import { type Checkpoint, concernsOthers } from '../../../engine/ports/checkpoint.js';
import { isTerminal } from '../../../machine/saga-state.js';
import { startParameters } from '../start/start-parameters.js';
import type { Writes } from '../statements.js';
import { parameterList } from './call.sql.js';
import {
  checkpointOneParameters,
  checkpointParameters,
  PUBLISH_PARAMETERS,
} from './checkpoint-parameters.js';
import { columnArrays, fieldArrays } from './column-values.js';
import { inLockOrder } from './in-lock-order.js';
import type { StoreCall } from './prepared-calls.js';
import { fenced, relaxed } from './relaxed.sql.js';
import { Select } from './select.js';

/** The number of arguments of tasks.sql. */
const TASKS_ARGUMENTS = 6;

/** Makes the calls that store checkpoints. */
export class CheckpointCalls {
  constructor(
    /** The schema of the sagas, quoted. */
    private readonly schema: string,
    private readonly writes: Writes,
  ) {}

  /**
   * The call that stores these checkpoints, and in the same statement what few of them have. That is one more function for each kind,
   * so that others cost nothing for it: tasks that change, tags that steps have set, and paused steps for which they come to rest.
   * @param fresh none of the steps in them is stored yet
   */
  of(checkpoints: readonly Checkpoint[], fresh: boolean, durability: Durability | undefined): StoreCall {
    let call = plainCall(checkpoints, fresh);
    const changing = checkpoints.filter(({ openApprovals }) => openApprovals !== undefined);
    if (changing.length > 0)
      call = this.with(call, tasksParameters(changing), (select, first) =>
        select.plus(`${this.schema}.tasks(${parameterList(first, TASKS_ARGUMENTS)}) AS tasks`),
      );
    const tags = checkpoints.flatMap(({ id, tags }) => (tags ? { id, text: JSON.stringify(tags) } : []));
    if (tags.length > 0) call = this.around(call, 'set_tags', tags);
    const held = checkpoints.flatMap(({ id, heldBy = [] }) => heldBy.map((text) => ({ id, text })));
    if (held.length > 0) call = this.around(call, 'rest_while_paused', held);
    return this.withDurability(call, checkpoints, durability);
  }

  /** Calls a function with what the call returns, ids, and a text for each. */
  private around(call: StoreCall, name: string, rows: readonly { id: string; text: string }[]): StoreCall {
    return this.with(call, fieldArrays(rows, 'id', 'text'), ({ text }, first) => {
      const saved = `(SELECT c.saved FROM (${text}) AS c)`;
      return new Select(
        `${this.schema}.${name}(${saved}, $${first}::uuid[], $${first + 1}::text[]) AS saved`,
      );
    });
  }

  /** Fences off sagas whose last checkpoint is gone. A relaxed checkpoint does not wait for the disk. */
  private withDurability(
    call: StoreCall,
    checkpoints: readonly Checkpoint[],
    durability: Durability | undefined,
  ): StoreCall {
    const isRelaxed = durability === 'relaxed';
    const following = inLockOrder(checkpoints.filter(({ after }) => after !== undefined));
    if (!isRelaxed && following.length === 0) return call;
    const { statement, select, parameters } = call;
    const given = fieldArrays(following, 'id', 'epoch', 'after', 'holder');
    const isHot = select === undefined && (statement === 'checkpoint' || statement === 'checkpointOne');
    if (isRelaxed && isHot)
      return { statement: `${statement}Relaxed`, parameters: [...parameters, ...given] };
    return this.with(call, given, (before, first) => {
      const whole = fenced(this.schema, before, first - 1);
      return isRelaxed ? relaxed(whole) : whole;
    });
  }

  /** @param change is given the statement so far, and the number of the first parameter that is added */
  private with(
    { statement, select = this.writes[statement], parameters }: StoreCall,
    added: readonly unknown[],
    change: (select: Select, first: number) => Select,
  ): StoreCall {
    return {
      statement,
      select: change(select, parameters.length + 1),
      parameters: [...parameters, ...added],
    };
  }
}

/** The statement: with other sagas that it concerns, with messages, with locks to hand on, of one saga and step as on an idle server, or many. */
function plainCall(checkpoints: readonly Checkpoint[], fresh: boolean): StoreCall {
  const [first] = checkpoints;
  if (first && concernsOthers(first))
    return { statement: 'checkpointFamily', parameters: familyParameters(first, fresh) };
  const locks = fieldArrays(checkpoints.flatMap(lockHandedOn), 'name', 'key');
  const batch = () => checkpointParameters(inLockOrder(checkpoints), fresh);
  const published = checkpoints.flatMap(({ id, messages = [] }) =>
    messages.map((message) => ({ id, message })),
  );
  if (published.length > 0) {
    const outbox = columnArrays(
      PUBLISH_PARAMETERS,
      published.map(({ message }) => message),
    );
    const parameters = [...fieldArrays(published, 'id'), ...outbox, ...locks, ...batch()];
    return { statement: 'checkpointPublish', parameters };
  }
  if (locks[0]!.length > 0) return { statement: 'checkpointLocked', parameters: [...locks, ...batch()] };
  const one = checkpointOneParameters(checkpoints, fresh);
  return one
    ? { statement: 'checkpointOne', parameters: one }
    : { statement: 'checkpoint', parameters: batch() };
}

function lockHandedOn({ lock, state }: Checkpoint): NonNullable<Checkpoint['lock']>[] {
  return lock && isTerminal(state.status) ? [lock] : [];
}

/** The arguments of checkpoint_family. */
function familyParameters(checkpoint: Checkpoint, fresh: boolean): unknown[] {
  const { parent, state, starts = [], messages = [] } = checkpoint;
  return [
    ...fieldArrays(lockHandedOn(checkpoint), 'name', 'key'),
    parent && isTerminal(state.status) ? parent.id : null,
    starts.map(({ parent: { step } }) => step),
    ...columnArrays(PUBLISH_PARAMETERS, messages),
    ...startParameters(starts, starts),
    ...checkpointParameters([checkpoint], fresh),
  ];
}

function tasksParameters(changing: readonly Checkpoint[]): unknown[][] {
  const ordered = inLockOrder(changing);
  const open = ordered.flatMap(({ id, openApprovals }) => openApprovals!.map((one) => ({ id, ...one })));
  return [...fieldArrays(ordered, 'id', 'epoch', 'number'), ...fieldArrays(open, 'id', 'step', 'since')];
}
