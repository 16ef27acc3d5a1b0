import { SagaNotFoundError, SagaShardUnavailableError, SagaTransactionError } from '../errors.js';
import type { StoredSaga } from '../engine/ports/stored-saga.js';
import { candidates, locate, onShardOf } from './find-shard.js';
import { mergeStats, newestFirst, oldestTasksFirst } from './merge-answers.js';
import { placeSaga, startWithin } from './place-saga.js';
import type { EngineCalls, Found } from './engine-calls.js';
import type { Shard } from './shard.js';

type Call<Name extends keyof EngineCalls> = EngineCalls[Name];

/** The answers of the shards that can be reached, and the names of the others. */
interface Answers<T> {
  readonly answers: readonly T[];
  readonly unreachable?: readonly string[];
}

/**
 * The engines of several databases, in the place of one. A call for a saga goes to the shard that has it; lists and
 * counts are merged.
 */
export class ShardedEngine implements EngineCalls {
  /** Where a saga was read: what is asked for it next is asked there. */
  private readonly readFrom = new WeakMap<object, Shard>();

  constructor(
    /** The first one has the schedules. */
    private readonly shards: readonly [Shard, ...Shard[]],
    /** Returns the shards in whose database a transaction is open. */
    private readonly shardsOfTransaction: (transaction: unknown) => Promise<readonly Shard[]>,
  ) {}

  /** Returns the shard from which a saga was read. */
  shardOf(saga: object): Shard {
    return this.readFrom.get(saga) ?? this.shards[0];
  }

  readonly waiters: EngineCalls['waiters'] = {
    wait: async (id, timeout, isUncommitted) => {
      const [home, ...others] = candidates({ id }, this.shards);
      try {
        return await home.wait(id, timeout, isUncommitted);
      } catch (error) {
        // The application has chosen the id.
        const shard = error instanceof SagaNotFoundError ? await locate({ id }, others) : undefined;
        if (!shard) throw error;
        return shard.wait(id, timeout, isUncommitted);
      }
    },
  };

  readonly watchers: EngineCalls['watchers'] = {
    watch: (saga, watcher) => {
      const shard = this.shardOf(saga);
      return shard.watch(saga, {
        changed: (state) => {
          this.readFrom.set(state, shard);
          watcher.changed(state);
        },
        failed: (error) => watcher.failed(error),
      });
    },
  };

  readonly submit: Call<'submit'> = async (start) => {
    const { shard, saga } = await placeSaga(start, this.shards, undefined);
    return shard.ask((engine) => engine.submit(saga));
  };

  readonly submitWithin: Call<'submitWithin'> = async (transaction, start) => {
    const joined = await this.shardsOfTransaction(transaction);
    return startWithin(transaction, joined, await placeSaga(start, this.shards, joined));
  };

  readonly signal: Call<'signal'> = (target, signal) =>
    onShardOf(
      target,
      this.shards,
      (shard) => shard.ask((engine) => engine.signal(target, signal)),
      ({ outcome }) => outcome !== 'unknown',
    );

  readonly signalWithin: Call<'signalWithin'> = async (transaction, target, signal) => {
    const joined = await this.shardsOfTransaction(transaction);
    for (const shard of candidates(target, joined)) {
      const result = await shard.engine.signalWithin(transaction, target, signal);
      if (result.outcome !== 'unknown') return result;
    }
    const others = this.shards.filter((shard) => !joined.includes(shard));
    const shard = await locate(target, others);
    if (!shard) return { outcome: 'unknown' };
    throw new SagaTransactionError(
      `signal(): the saga is on shard '${shard.name}', but the transaction is open in the database of shard ` +
        `${joined.map(({ name }) => `'${name}'`).join(', ')}. Send the signal without the transaction, or publish a message in it ` +
        `that leads to the signal.`,
    );
  };

  readonly edit: Call<'edit'> = (target, change) =>
    onShardOf(target, this.shards, (shard) => shard.ask((engine) => engine.edit(target, change)), isThere);

  readonly graphOf: Call<'graphOf'> = (saga) => this.shardOf(saga).ask((engine) => engine.graphOf(saga));

  readonly load: Call<'load'> = (target) =>
    onShardOf(target, this.shards, (shard) => this.loadFrom(shard, target), isThere);

  readonly find: Call<'find'> = async (filter) => {
    const { answers, unreachable } = await this.all((shard) => shard.find(filter));
    return found(newestFirst(answers, filter.limit), unreachable);
  };

  readonly tasks: Call<'tasks'> = async (filter) => {
    const { answers, unreachable } = await this.all((shard) => shard.tasks(filter));
    return found(oldestTasksFirst(answers, filter.limit), unreachable);
  };

  readonly history: Call<'history'> = (target, limit) =>
    onShardOf(target, this.shards, (shard) => shard.ask((engine) => engine.history(target, limit)), isThere);

  readonly stats: Call<'stats'> = async () => {
    const { answers, unreachable } = await this.all((shard) => shard.stats());
    return { ...mergeStats(answers), ...(unreachable && { unreachable }) };
  };

  readonly allSchedules: Call<'allSchedules'> = () => this.shards[0].ask((engine) => engine.allSchedules());

  readonly editSchedule: Call<'editSchedule'> = (saga, change) =>
    this.shards[0].ask((engine) => engine.editSchedule(saga, change));

  readonly trigger: Call<'trigger'> = (graph) => this.shards[0].ask((engine) => engine.trigger(graph));

  readonly stepPauses: Call<'stepPauses'> = async (resumed) => {
    const { answers, unreachable } = await this.all(async (engine, { name }) =>
      (await engine.stepPauses(resumed)).map((pause) => ({ ...pause, shard: name })),
    );
    const pauses = answers.flat();
    return unreachable ? Object.assign(pauses, { unreachable }) : pauses;
  };

  readonly pausesOf: Call<'pausesOf'> = (saga) => this.shardOf(saga).ask((engine) => engine.pausesOf(saga));

  readonly pauseStep: Call<'pauseStep'> = (step, who) =>
    this.everywhere('paused', (engine) => engine.pauseStep(step, who));

  readonly resumeStep: Call<'resumeStep'> = (step, who) =>
    this.everywhere('resumed', (engine) => engine.resumeStep(step, who));

  /** @throws SagaShardUnavailableError that names the shards on which nothing was done; on the others it was */
  private async everywhere(what: string, call: (engine: EngineCalls) => Promise<void>): Promise<void> {
    const { unreachable } = await this.all(call);
    if (!unreachable) return;
    const names = unreachable.map((name) => `'${name}'`).join(', ');
    throw new SagaShardUnavailableError(
      `The step is ${what} on all shards but ${names}, which cannot be reached. Repeat the call when they can be reached; ` +
        `shards on which the step is ${what} already are unchanged.`,
      unreachable[0]!,
    );
  }

  /** The clock of the first shard that can be asked. */
  now(): number {
    return (this.shards.find(({ row }) => row) ?? this.shards[0]).engine.now();
  }

  /** @throws SagaShardUnavailableError if no shard can be reached */
  async all<T>(call: (engine: EngineCalls, shard: Shard) => Promise<T>): Promise<Answers<T>> {
    const asked = await Promise.allSettled(
      this.shards.map((shard) => shard.ask((engine) => call(engine, shard))),
    );
    const answers: T[] = [];
    const unreachable: string[] = [];
    let failure: SagaShardUnavailableError | undefined;
    for (const [n, one] of asked.entries()) {
      if (one.status === 'fulfilled') answers.push(one.value);
      else if (one.reason instanceof SagaShardUnavailableError) {
        failure ??= one.reason;
        unreachable.push(this.shards[n]!.name);
      } else throw one.reason;
    }
    if (failure && answers.length === 0) throw failure;
    return { answers, ...(failure && { unreachable }) };
  }

  private async loadFrom(shard: Shard, target: Parameters<Call<'load'>>[0]): Promise<StoredSaga | undefined> {
    const saga = await shard.ask((engine) => engine.load(target));
    if (saga) this.readFrom.set(saga, shard);
    return saga;
  }
}

function found<T>(rows: readonly T[], unreachable: readonly string[] | undefined): Found<T> {
  return unreachable ? Object.assign(rows, { unreachable }) : rows;
}

function isThere(answer: unknown): boolean {
  return answer !== undefined;
}
