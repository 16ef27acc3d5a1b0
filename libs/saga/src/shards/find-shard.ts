import type { MovedNote } from '../engine/ports/shard-moves.js';
import type { StoreTarget } from '../engine/ports/saga-store.js';
import type { NewSaga } from '../engine/ports/stored-saga.js';
import { SagaShardUnavailableError } from '../errors.js';
import type { Shard } from './shard.js';
import { ranked } from './rendezvous.js';
import { shardNumberOf } from './shard-id.js';

/** Milliseconds between two looks for a saga that is on its way to another shard. */
const MOVE_LOOK = 50;
/** Shards that a saga may have been on, one after the other, before a look ends. */
const LONGEST_WAY = 32;
/** How often a call follows a saga that moves again and again. */
const CALLS = 5;

/** The key by which a saga of this id, or of this correlation id, has its home. */
export function keyOf(target: StoreTarget): string {
  return 'id' in target ? `id ${target.id}` : `correlation ${target.name} ${target.correlationId}`;
}

/** The key by which a saga has its home: its lock key first, since sagas of one lock have one home. */
export function homeKeyOf({
  id,
  name,
  correlationId,
  lockKey,
}: Pick<NewSaga, 'id' | 'name' | 'correlationId' | 'lockKey'>): string {
  if (lockKey !== undefined) return `lock ${name} ${lockKey}`;
  return keyOf(correlationId === undefined ? { id } : { name, correlationId });
}

/** Returns the shard whose number an id carries. Undefined: none has it. */
export function shardOfId(id: string, shards: readonly Shard[]): Shard | undefined {
  const number = shardNumberOf(id);
  return shards.find((shard) => shard.number === number);
}

/** Returns the shards on which a saga may be, the most likely one first. */
export function candidates(target: StoreTarget, shards: readonly Shard[]): [Shard, ...Shard[]] {
  const carried = 'id' in target ? shardOfId(target.id, shards) : undefined;
  if (carried) return [carried, ...shards.filter((shard) => shard !== carried)];
  const inOrder = ranked(shards, keyOf(target));
  const home = inOrder.find(({ accepting }) => accepting) ?? inOrder[0]!;
  return [home, ...inOrder.filter((shard) => shard !== home)];
}

/**
 * Returns the shard that has a saga. Undefined: none has it.
 * @param asked the shards that may have the saga, or may have had it
 * @param shards all shards: a saga that was on one of those that are asked may have moved to another one
 * @throws SagaShardUnavailableError if none of those that can be reached has it, and others cannot be reached. Also if it
 * is on its way from one shard to another, and does not arrive in time
 */
export async function locate(
  target: StoreTarget,
  asked: readonly Shard[],
  shards: readonly Shard[],
): Promise<Shard | undefined> {
  for (let waited = 0; ; waited += MOVE_LOOK) {
    const looks = await Promise.allSettled(asked.map((shard) => look(target, shard, shards)));
    const found = looks.find((one) => one.status === 'fulfilled' && one.value && 'has' in one.value);
    if (found) return (found as PromiseFulfilledResult<Found>).value.has;
    const failed = looks.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
    const moving = looks.find((one) => one.status === 'fulfilled' && one.value !== undefined);
    if (!moving) return undefined;
    const { from, note } = (moving as PromiseFulfilledResult<Moving>).value;
    if (waited >= from.movePatience) throw onItsWay(from, note);
    await new Promise((resolve) => setTimeout(resolve, Math.min(MOVE_LOOK, from.movePatience)));
  }
}

interface Found {
  readonly has: Shard;
}

interface Moving {
  readonly from: Shard;
  readonly note: MovedNote;
}

/** Follows a saga from a shard to where it is. Undefined: the shard never had it, or it was deleted since. */
async function look(
  target: StoreTarget,
  shard: Shard,
  shards: readonly Shard[],
): Promise<Found | Moving | undefined> {
  let at = shard;
  let moving: Moving | undefined;
  let returned: string | undefined;
  for (let way = 0; way < LONGEST_WAY; way += 1) {
    if (await at.calls.load(target)) return { has: at };
    // After the look for the saga: when it left the shard, it left the note.
    const note = await at.noteOf(target);
    if (!note) return moving;
    if (note.state === 'returned') {
      // It came back since the look, or was deleted since.
      if (note.move === returned) return undefined;
      returned = note.move;
      continue;
    }
    moving = note.state === 'sealed' ? { from: at, note } : undefined;
    const next = shards.find(({ name }) => name === note.to);
    if (!next) return moving ?? lookBeside(target, at, shards);
    at = next;
  }
  return moving;
}

/** Its next shard was emptied and removed since: then one of the others has the saga, or none. */
async function lookBeside(
  target: StoreTarget,
  at: Shard,
  shards: readonly Shard[],
): Promise<Found | Moving | undefined> {
  const others = shards.filter((shard) => shard !== at);
  for (const other of others) {
    const found = await look(target, other, others);
    if (found) return found;
  }
  return undefined;
}

/**
 * Makes a call on the shard that has a saga: on its home first, and then on the one that has it.
 * @param isFound false: the answer says that the shard does not have the saga
 */
export async function onShardOf<T>(
  target: StoreTarget,
  shards: readonly Shard[],
  call: (shard: Shard) => Promise<T>,
  isFound: (answer: T) => boolean,
): Promise<T> {
  const [home] = candidates(target, shards);
  let answer: T | undefined;
  let unavailable: SagaShardUnavailableError | undefined;
  try {
    answer = await call(home);
    if (isFound(answer)) return answer;
  } catch (error) {
    if (!(error instanceof SagaShardUnavailableError) || isCertain(target, home, shards)) throw error;
    unavailable = error;
  }
  for (let calls = 0; calls < CALLS; calls += 1) {
    const shard = await locate(target, shards, shards);
    if (!shard) break;
    answer = await call(shard);
    if (isFound(answer)) return answer;
  }
  if (unavailable) throw unavailable;
  return answer!;
}

/** Whether the id says where the saga is: no saga was ever moved off a shard that was never drained. */
export function isCertain(target: StoreTarget, home: Shard, shards: readonly Shard[]): boolean {
  return 'id' in target && shardOfId(target.id, shards) === home && home.row?.changed === false;
}

function onItsWay(from: Shard, { saga, to }: MovedNote): SagaShardUnavailableError {
  return new SagaShardUnavailableError(
    `Saga ${saga} is on its way from shard '${from.name}' to shard '${to}'. Repeat the call later. A move that ` +
      `was interrupted continues when both shards can be reached: shards() shows how long it takes.`,
    from.name,
  );
}
