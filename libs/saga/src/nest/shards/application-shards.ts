import {
  SagaShardUnavailableError,
  SagaTransactionError,
  SagaUnavailableError,
  SagaValidationError,
} from '../../errors.js';
import { serializeError } from '../../engine/payload/serialize-error.js';
import { shown } from '../../shared/shown-value.js';
import { placeSaga, shardNamed, type StartedSaga, startWithin } from '../../shards/place-saga.js';
import type { Shard } from '../../shards/shard.js';
import {
  type ShardCall,
  type ShardChange,
  shardsOfTransaction,
} from '../../store/postgres/shards/postgres-shard-row.js';
import { joinOneOf } from '../application-database.js';
import type { ResolvedSagaOptions } from '../saga.options.js';
import { shardCountsOf, type ShardStatus } from '../views/shard-status.js';
import type { PlacedSaga, PlaceRequest, ShardCalls } from './shard-calls.js';
import type { ShardRuntime } from './shard-runtime.js';

/** The calls of an application that has shards. */
export class ApplicationShards implements ShardCalls {
  constructor(
    private readonly runtimes: readonly ShardRuntime[],
    private readonly options: Pick<ResolvedSagaOptions, 'shardOf'>,
  ) {}

  async place(start: StartedSaga, request: PlaceRequest): Promise<PlacedSaga> {
    const { transaction } = request;
    const joined = transaction && (await this.ofTransaction(transaction));
    const chosen = this.chosen(start, request, joined);
    const placed = await placeSaga(start, this.shards, chosen);
    const { shard, saga } = placed;
    const engine: PlacedSaga['engine'] = {
      submit: (started) => shard.ask((own) => own.submit(started)),
      waiters: shard,
      submitWithin: (within) => startWithin(within, joined!, placed),
    };
    const { place } = this.runtimes.find((one) => one.shard === (joined?.[0] ?? shard))!;
    return { saga, engine, database: place.database };
  }

  async status(): Promise<ShardStatus[]> {
    return Promise.all(this.runtimes.map(statusOf));
  }

  async change(name: string, call: ShardCall, change: ShardChange): Promise<void> {
    const { shards } = this;
    const shard = shardNamed(name, shards, `${call}(): the shard`);
    // What was paused since this process has started, by one that does not have the shard.
    if (call === 'open' && !shard.accepting && !shard.row?.closed) await shard.pauseAsOn(shards);
    await this.runtimes.find((one) => one.shard === shard)!.change(call, change);
  }

  /**
   * Returns the shards in whose database a transaction is open.
   * @throws SagaTransactionError if it is none of them
   */
  async ofTransaction(transaction: unknown): Promise<readonly [Shard, ...Shard[]]> {
    const named = this.runtimes.map(({ shard, place: { schema } }) => ({ shard, name: shard.name, schema }));
    const places = this.runtimes.map(({ place }) => place);
    const [first, ...more] = await shardsOfTransaction(joinOneOf(places, transaction), named);
    if (first) return [first.shard, ...more.map(({ shard }) => shard)];
    throw new SagaTransactionError(
      `The transaction is not open in the database of a shard. Open it on the database of one of ` +
        `${namesOf(this.shards)}, or make the call without a transaction.`,
    );
  }

  private get shards(): Shard[] {
    return this.runtimes.map(({ shard }) => shard);
  }

  /**
   * The shards of which one has to be chosen. Undefined: any.
   * @param joined the shards in whose database the transaction of the start is open
   */
  private chosen(
    saga: StartedSaga,
    { shard: named, input }: PlaceRequest,
    joined: readonly Shard[] | undefined,
  ): readonly Shard[] | undefined {
    const [name, what] =
      named === undefined
        ? [this.shardOf(saga, input), 'start(): the result of shardOf()']
        : [named, 'start(): shard'];
    if (name === undefined) return joined;
    const shard = shardNamed(name, this.shards, what);
    if (!joined || joined.includes(shard)) return [shard];
    throw new SagaValidationError(
      `${what} is ${shown(name)}, but the transaction is open in the database of shard ${namesOf(joined)}. A saga is stored in the ` +
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

const namesOf = (shards: readonly Shard[]): string => shards.map(({ name }) => `'${name}'`).join(', ');

/** A shard is reported as calls find it: they fail at once if it cannot be reached. */
async function statusOf(runtime: ShardRuntime): Promise<ShardStatus> {
  await runtime.look();
  const counts = await countsOn(runtime);
  const { name, row, health } = runtime.shard;
  return {
    name,
    ...(row && { accepting: row.accepting, closed: row.closed }),
    reachable: health.reachable,
    ...(counts && { counts }),
  };
}

/** Undefined: the shard cannot be reached, or is lost while they are read. */
async function countsOn(runtime: ShardRuntime): Promise<ShardStatus['counts']> {
  try {
    return shardCountsOf(await runtime.shard.ask((engine) => engine.stats()));
  } catch (error) {
    if (!(error instanceof SagaShardUnavailableError || error instanceof SagaUnavailableError)) throw error;
    await runtime.look();
    return undefined;
  }
}
