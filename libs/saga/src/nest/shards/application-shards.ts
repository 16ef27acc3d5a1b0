import {
  SagaShardUnavailableError,
  SagaStateError,
  SagaTransactionError,
  SagaUnavailableError,
  SagaValidationError,
} from '../../errors.js';
import { serializeError } from '../../engine/payload/serialize-error.js';
import { shown } from '../../shared/shown-value.js';
import { moveSagas, type MoveResult, type MovingShard } from '../../shards/move-sagas.js';
import {
  isMovedAway,
  placeSaga,
  shardNamed,
  type StartedSaga,
  submitPlaced,
} from '../../shards/place-saga.js';
import { waitOverMoves } from '../../shards/wait-for-saga.js';
import type { Shard } from '../../shards/shard.js';
import type { JoinedTransaction } from '../../store/postgres/connection/saga-database.js';
import { shardOfTransaction } from '../../store/postgres/shards/postgres-shard-row.js';
import type { ResolvedSagaOptions } from '../saga.options.js';
import { countsOf, type ShardStatus } from '../views/shard-status.js';
import type { PlacedSaga, PlaceRequest, ShardCalls, ShardChange, ShardMoveRequest } from './shard-calls.js';
import type { ShardRuntime } from './shard-runtime.js';

/** The calls of an application that has shards. */
export class ApplicationShards implements ShardCalls {
  constructor(
    private readonly runtimes: readonly ShardRuntime[],
    private readonly options: Pick<ResolvedSagaOptions, 'schema' | 'shardOf'>,
  ) {}

  async place(saga: StartedSaga, request: PlaceRequest): Promise<PlacedSaga> {
    const { shards } = this;
    const place = async () => placeSaga(saga, shards, await this.chosen(saga, request));
    const placed = await place();
    const { shard } = placed;
    const { database } = this.runtimes.find((one) => one.shard === shard)!;
    const engine: PlacedSaga['engine'] = {
      submit: () => submitPlaced(placed, place, shards),
      submitWithin: (transaction, start) =>
        shard.calls.submitWithin(transaction, start).catch(async (error: unknown) => {
          if (!isMovedAway(error)) throw error;
          await Promise.all(shards.map((one) => one.refresh()));
          throw movedAway(shard, error);
        }),
      waiters: {
        wait: (id, timeout, isUncommitted) =>
          waitOverMoves(id, { first: shard, timeout, isUncommitted }, shards),
      },
    };
    return { saga: placed.saga, engine, database };
  }

  async move({ from, to, limit }: ShardMoveRequest): Promise<MoveResult> {
    const { shards } = this;
    const source = shardNamed(from, shards, 'moveSagas(): from');
    const target = to === undefined ? undefined : shardNamed(to, shards, 'moveSagas(): to');
    if (source === target)
      throw new SagaValidationError(
        `moveSagas(): from and to are both '${source.name}'. Give another shard as to, or leave it out.`,
      );
    await Promise.all(shards.map((one) => one.refresh()));
    const moving = shards.map((shard) => movingShard(shard));
    const [old, chosen] = [source, target].map((shard) => moving[shards.indexOf(shard!)]);
    const { moves } = old!;
    if (!moves) throw source.health.error;
    if (target && !chosen!.moves) throw target.health.error;
    if (chosen && !chosen.accepting) throw noArrivals(chosen.name);
    return moveSagas({ from: { ...old!, moves }, shards: moving, to: chosen, limit, knowsAll: true });
  }

  async status(): Promise<ShardStatus[]> {
    return Promise.all(this.shards.map(statusOf));
  }

  async setAccepting(name: string, accepting: boolean, change: ShardChange): Promise<void> {
    const call = accepting ? 'admit' : 'drain';
    const shard = shardNamed(name, this.shards, `${call}(): the shard`);
    await this.runtimes.find((one) => one.shard === shard)!.setAccepting(accepting, change);
  }

  /**
   * Returns the shard in whose database a transaction is open.
   * @throws SagaTransactionError if it is none of them
   */
  async ofTransaction(transaction: unknown): Promise<Shard> {
    const name = await shardOfTransaction(this.join(transaction), this.options.schema);
    const shard = this.shards.find((one) => one.name === name);
    if (shard) return shard;
    throw new SagaTransactionError(
      `The transaction is not open in the database of a shard. Open it on the database of one of ` +
        `${this.shards.map((one) => one.name).join(', ')}, or make the call without a transaction.`,
    );
  }

  private get shards(): Shard[] {
    return this.runtimes.map(({ shard }) => shard);
  }

  /** By the first layer that knows it: shards may have different ones. */
  private join(transaction: unknown): JoinedTransaction {
    let refusal: unknown;
    for (const { database } of this.runtimes) {
      try {
        return database.join(transaction);
      } catch (error) {
        refusal ??= error;
      }
    }
    throw refusal;
  }

  /** The shard that the application has chosen. Undefined: it has chosen none. */
  private async chosen(
    saga: StartedSaga,
    { shard: named, transaction, input }: PlaceRequest,
  ): Promise<Shard | undefined> {
    const [name, what] =
      named === undefined
        ? [this.shardOf(saga, input), 'start(): the result of shardOf()']
        : [named, 'start(): shard'];
    const shard = name === undefined ? undefined : shardNamed(name, this.shards, what);
    if (!transaction) return shard;
    const joined = await this.ofTransaction(transaction);
    if (!shard || shard === joined) return joined;
    throw new SagaValidationError(
      `${what} is ${shown(name)}, but the transaction is open in the database of shard '${joined.name}'. A saga is stored in the ` +
        `database of its transaction: open the transaction on the database of '${shard.name}', or start the saga without it.`,
    );
  }

  private shardOf({ name, correlationId }: StartedSaga, input: unknown): string | undefined {
    const { shardOf } = this.options;
    try {
      return shardOf?.({ saga: name, input, ...(correlationId !== undefined && { correlationId }) });
    } catch (error) {
      throw new SagaValidationError(
        `start(): shardOf() failed for saga '${name}': ${serializeError(error).message}. Make it return the name of a shard for ` +
          `every input, or undefined.`,
        { cause: error },
      );
    }
  }
}

export function movingShard({ name, accepting, health, moves }: Shard): MovingShard {
  return { name, accepting, ...(moves && health.reachable && { moves }) };
}

function noArrivals(name: string): SagaStateError {
  return new SagaStateError(
    `moveSagas(): shard '${name}' accepts no sagas. Call admit('${name}') first, or move them to another shard.`,
  );
}

function movedAway({ name }: Shard, cause: unknown): SagaShardUnavailableError {
  return new SagaShardUnavailableError(
    `start(): the saga was moved off shard '${name}' just now, and the transaction is open in the database of this shard. ` +
      `Roll it back and repeat the call.`,
    name,
    { cause },
  );
}

/** A shard is reported as calls find it: they fail at once if it cannot be reached. */
async function statusOf(shard: Shard): Promise<ShardStatus> {
  await shard.refresh();
  const counts = await countsOn(shard);
  const { name, row, health } = shard;
  return {
    name,
    ...(row && { accepting: row.accepting }),
    reachable: health.reachable,
    ...(counts && { counts }),
  };
}

/** Undefined: the shard cannot be reached, or is lost while they are read. */
async function countsOn(shard: Shard): Promise<ShardStatus['counts']> {
  try {
    return countsOf(await shard.calls.stats(), await shard.onTheirWay());
  } catch (error) {
    if (!(error instanceof SagaShardUnavailableError || error instanceof SagaUnavailableError)) throw error;
    await shard.refresh();
    return undefined;
  }
}
