import {
  SagaShardUnavailableError,
  SagaTransactionError,
  SagaUnavailableError,
  SagaValidationError,
} from '../../errors.js';
import { serializeError } from '../../engine/payload/serialize-error.js';
import { shown } from '../../shared/shown-value.js';
import { placeSaga, shardNamed, type StartedSaga } from '../../shards/place-saga.js';
import type { Shard } from '../../shards/shard.js';
import type { JoinedTransaction } from '../../store/postgres/connection/saga-database.js';
import { shardOfTransaction } from '../../store/postgres/shards/postgres-shard-row.js';
import type { ResolvedSagaOptions } from '../saga.options.js';
import { countsOf, type ShardStatus } from '../views/shard-status.js';
import type { PlacedSaga, PlaceRequest, ShardCalls, ShardChange } from './shard-calls.js';
import type { ShardRuntime } from './shard-runtime.js';

/** The calls of an application that has shards. */
export class ApplicationShards implements ShardCalls {
  constructor(
    private readonly runtimes: readonly ShardRuntime[],
    private readonly options: Pick<ResolvedSagaOptions, 'schema' | 'shardOf'>,
  ) {}

  async place(start: StartedSaga, request: PlaceRequest): Promise<PlacedSaga> {
    const { shard, saga } = await placeSaga(start, this.shards, await this.chosen(start, request));
    const { database } = this.runtimes.find((one) => one.shard === shard)!;
    return { saga, engine: shard.calls, database };
  }

  async status(): Promise<ShardStatus[]> {
    return Promise.all(this.runtimes.map(statusOf));
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

/** A shard is reported as calls find it: they fail at once if it cannot be reached. */
async function statusOf(runtime: ShardRuntime): Promise<ShardStatus> {
  await runtime.look();
  const counts = await countsOn(runtime);
  const { name, row, health } = runtime.shard;
  return {
    name,
    ...(row && { accepting: row.accepting }),
    reachable: health.reachable,
    ...(counts && { counts }),
  };
}

/** Undefined: the shard cannot be reached, or is lost while they are read. */
async function countsOn(runtime: ShardRuntime): Promise<ShardStatus['counts']> {
  try {
    return countsOf(await runtime.shard.calls.stats());
  } catch (error) {
    if (!(error instanceof SagaShardUnavailableError || error instanceof SagaUnavailableError)) throw error;
    await runtime.look();
    return undefined;
  }
}
