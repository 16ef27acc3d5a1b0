import { SagaStateError, SagaValidationError } from '../errors.js';
import { suggestion } from '../shared/nearest-name.js';
import { shown } from '../shared/shown-value.js';
import type { StartResult } from '../engine/ports/stored-saga.js';
import type { NewSaga } from '../engine/ports/stored-saga.js';
import type { StoreTarget } from '../engine/ports/saga-store.js';
import { homeKeyOf, locate } from './find-shard.js';
import { ranked } from './rendezvous.js';
import { idOnShard, shardNumberOf } from './shard-id.js';
import type { Shard } from './shard.js';

export type StartedSaga = Omit<NewSaga, 'leased'>;

/** A saga with the shard on which it starts. */
export interface PlacedStart {
  readonly shard: Shard;
  readonly saga: StartedSaga;
}

/** Returns the shard on which a saga starts, as `shardFor()`, and the saga. A new id carries the number of the shard. */
export async function placeSaga(
  saga: StartedSaga,
  shards: readonly Shard[],
  chosen: readonly Shard[] | undefined,
): Promise<PlacedStart> {
  const shard = await shardFor(saga, shards, chosen);
  const { number } = shard;
  if (number === undefined) throw shard.health.error;
  return { shard, saga: saga.fresh ? { ...saga, id: idOnShard(saga.id, number) } : saga };
}

/**
 * Starts a saga in a transaction of the application. If it exists already on a shard of another database, nothing is stored.
 * @param joined the shards in whose database the transaction is open
 */
export async function startWithin(
  transaction: unknown,
  joined: readonly Shard[],
  { shard, saga }: PlacedStart,
): Promise<StartResult> {
  if (joined.includes(shard)) return shard.engine.submitWithin(transaction, saga);
  const existing = await shard.ask((engine) => engine.load(uniqueKeyOf(saga)!));
  if (existing) {
    const { input } = existing.startedWith ?? existing;
    return { created: false, existing: { ...existing, input } };
  }
  throw new SagaStateError(
    `start(): the saga was on shard '${shard.name}', and was deleted just now. Roll the transaction back and repeat the call.`,
  );
}

/**
 * Returns the shard on which a saga starts. If it exists already, this is the shard that has it.
 * @param chosen the shards of which it has to be one. Undefined: any. The keys of the saga decide among them
 * @throws SagaStateError if the shard accepts no new sagas
 * @throws SagaShardUnavailableError if the shard cannot be reached, or one that may have the saga already
 */
async function shardFor(
  saga: StartedSaga,
  shards: readonly Shard[],
  chosen: readonly Shard[] | undefined,
): Promise<Shard> {
  const unique = uniqueKeyOf(saga);
  // Without either it may start anywhere.
  const key = unique || saga.lockKey !== undefined ? homeKeyOf(saga) : undefined;
  const only = chosen?.length === 1 ? chosen[0] : undefined;
  if (!only && key === undefined) return anyShard(saga.id, chosen ?? shards);
  for (;;) {
    const inOrder = ranked(chosen ?? shards, key ?? '');
    const target = only ?? inOrder.find(({ accepting }) => accepting);
    if (unique) {
      const isHome = !chosen && saga.lockKey === undefined;
      const elsewhere = isHome ? formerHomes(inOrder, target) : shards;
      const others = elsewhere.filter((shard) => shard !== target || !shard.accepting);
      const existing = others.length > 0 ? await locate(unique, others) : undefined;
      if (existing) return existing;
    }
    if (!target) throw noneAccepts(inOrder);
    if (target.accepting) return target;
    if (only) throw drained(target);
    // It was drained meanwhile: another one is the home.
  }
}

/** @throws SagaValidationError if there is no such shard */
export function shardNamed(name: unknown, shards: readonly Shard[], what: string): Shard {
  const shard = shards.find((one) => one.name === name);
  if (shard) return shard;
  const names = shards.map((one) => one.name);
  const all = `The shards: ${names.join(', ')}`;
  const hint = typeof name === 'string' ? suggestion(name, names, all) : all;
  throw new SagaValidationError(`${what} is ${shown(name)}, which is not a shard. ${hint}`);
}

/** What no other saga may have. Undefined: its id is new. */
function uniqueKeyOf({ id, name, correlationId, fresh }: StartedSaga): StoreTarget | undefined {
  if (correlationId !== undefined) return { name, correlationId };
  return fresh ? undefined : { id };
}

/**
 * The shards that may have a key whose home is `home`: those before it have been its home if they accepted sagas then;
 * those after it, if it did not accept sagas.
 */
function formerHomes(inOrder: readonly Shard[], home: Shard | undefined): Shard[] {
  if (!home) return [...inOrder];
  const before = inOrder.slice(0, inOrder.indexOf(home));
  const after = inOrder.slice(inOrder.indexOf(home) + 1);
  return home.row?.changed ? [...before, ...after] : before;
}

/** By the random digits of the id that the number of the shard replaces: a hash for each shard would cost more. */
function anyShard(id: string, shards: readonly Shard[]): Shard {
  const accepting = shards.filter((shard) => shard.accepting);
  if (accepting.length === 0) throw noneAccepts(shards);
  const first = shardNumberOf(id) % accepting.length || 0;
  const inOrder = [...accepting.slice(first), ...accepting.slice(0, first)];
  const shard = inOrder.find(({ health, row }) => row && health.reachable);
  if (!shard) throw inOrder[0]!.health.error;
  return shard;
}

function noneAccepts(shards: readonly Shard[]): SagaStateError {
  return new SagaStateError(
    `start(): no shard accepts new sagas: ${shards.map(({ name }) => name).join(', ')} are drained. Call open() for one of them.`,
  );
}

function drained({ name }: Shard): SagaStateError {
  return new SagaStateError(
    `start(): shard '${name}' accepts no new sagas. Call open('${name}'), or start the saga on another shard.`,
  );
}
