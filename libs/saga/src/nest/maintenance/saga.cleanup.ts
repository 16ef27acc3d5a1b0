import type { Type } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Duration } from '../../definition/options/duration.js';
import * as kind from '../../definition/options/kinds.js';
import { optional, type OptionTable, withDefault } from '../../definition/options/option-reader.js';
import { readOptions } from '../../definition/options/read-options.js';
import { shown } from '../../shared/shown-value.js';
import type { CleanupPlace, CleanupStore } from '../../engine/ports/cleanup-store.js';
import type { EngineLog } from '../../engine/ports/engine-log.js';
import { SagaValidationError } from '../../errors.js';
import { classOrName } from '../calls/call-kinds.js';
import type { SagaPoller } from './saga.poller.js';
import type { SagaRegistry } from '../discovery/saga.registry.js';
import { Maintenance } from './maintenance.js';

/** The name of the interval that deletes ended sagas, among the application's scheduled intervals. */
export const SAGA_CLEANUP_INTERVAL = 'saga:cleanup';

/** Options of `SagaOperations.cleanup()`. */
export interface CleanupOptions {
  /** The minimum time since the sagas ended. Default: their `retention`. */
  olderThan?: Duration;
  /** The class or the name of the saga. Default: all sagas that have a retention, or all sagas if `olderThan` is set. */
  saga?: Type | string;
  /** The maximum number of sagas, not counting sub-sagas: 1 to 10,000,000. Default: 10,000. */
  limit?: number;
  /** Whether to only count the sagas. Default: false. */
  dryRun?: boolean;
}

/** The result of `SagaOperations.cleanup()`. */
export interface CleanupResult {
  /** The number of deleted sagas including sub-sagas. With `dryRun`, the number that would be deleted. */
  readonly deleted: number;
  /** Whether more sagas could be deleted, beyond `limit`. */
  readonly more: boolean;
}

/** Milliseconds between two passes, at most and at least. */
const EVERY = 60_000;
const AT_LEAST = 1_000;
/** Sagas in one transaction, so that none takes long. */
const AT_ONCE = 1_000;
/** Milliseconds between two looks whether another process has made the index. */
const INDEX_POLL = 100;
/** Sagas that a call deletes, unless it says otherwise. */
export const CLEANUP_LIMIT = 10_000;
const HIGHEST_LIMIT = 10_000_000;

/** What is to be deleted, or looked at, yet. */
interface Task {
  readonly name: string;
  /** Milliseconds since they ended. */
  readonly age: number;
  /** Where the batch before ended. */
  readonly after?: CleanupPlace;
}

interface Pass {
  readonly limit: number;
  readonly dryRun: boolean;
  readonly alone: boolean;
  /** Between two batches, with the milliseconds that the last one took. False: no more. */
  readonly goesOn: (took: number) => Promise<boolean>;
  /** Sends a statement. */
  readonly ask: Ask;
}

type Ask = <T>(statement: () => Promise<T>) => Promise<T>;

const once: Ask = (statement) => statement();

/** Deletes sagas that have ended, when it is asked to, and by itself once their retention is over. */
export class SagaCleanup extends Maintenance {
  constructor(
    private readonly store: CleanupStore,
    private readonly registry: SagaRegistry,
    poller: Pick<SagaPoller, 'start' | 'stop'>,
    log: EngineLog,
    /** How much later (ms) those are deleted that are kept longest: whole partitions go before. */
    private readonly grace: () => number = () => 0,
    /** Repeats the statements of calls during an outage. */
    private readonly retrying: Ask = once,
  ) {
    super(poller, SAGA_CLEANUP_INTERVAL, log);
  }

  /** From now on by itself, if anything has a retention. */
  start(): void {
    const ages = [...this.registry.retentions.values()];
    if (ages.length === 0) return;
    const every = Math.min(EVERY, Math.max(AT_LEAST, Math.min(...ages)));
    this.startPasses(every);
  }

  /**
   * @throws SagaValidationError for wrong options, or when nothing says how old is old
   * @throws SagaUnavailableError if the database does not do its work for 30 s
   * @throws SagaConfigurationError when the index that it needs is missing, and the role may not create it
   */
  async cleanup(given: CleanupOptions | undefined): Promise<CleanupResult> {
    const { limit, dryRun, ...which } = readCleanup(given, this.registry);
    const goesOn = async () => !this.signal.aborted;
    const isReady = () => this.retrying(() => this.store.ready(this.signal));
    while (!(await isReady()) && (await goesOn())) await sleep(INDEX_POLL);
    const tasks = await this.tasksOf(which);
    return this.delete(tasks, { limit, dryRun, alone: false, goesOn, ask: this.retrying });
  }

  /** Deletes all that is old enough now, unless another process does. */
  protected async pass(): Promise<void> {
    try {
      if (!(await this.store.ready(this.signal))) return;
      const ages = [...this.registry.retentions];
      const longest = Math.max(...ages.map(([, age]) => age));
      const tasks = ages.map(([name, age]) => ({ name, age: age < longest ? age : age + this.grace() }));
      const goesOn = (took: number) => this.pause(took);
      const pass = { limit: Infinity, dryRun: false, alone: true, goesOn, ask: once };
      const { deleted } = await this.delete(tasks, pass);
      if (deleted > 0) this.log.debug(`${deleted} saga(s) were deleted because their retention has passed`);
    } catch (error) {
      if (this.signal.aborted) return;
      this.log.warn(`Old sagas could not be deleted; the next run tries again: ${(error as Error).message}`);
    }
  }

  private async delete(tasks: readonly Task[], pass: Pass): Promise<CleanupResult> {
    const left = [...tasks];
    let deleted = 0;
    for (let task = left[0]; task; task = left[0]) {
      if (deleted >= pass.limit) return { deleted, more: await this.isThereAny(left, pass.ask) };
      const began = performance.now();
      const most = Math.min(AT_ONCE, pass.limit - deleted);
      const { dryRun, alone } = pass;
      const looked = task;
      const batch = await pass.ask(() => this.store.batch({ ...looked, most, dryRun, alone }));
      if (!batch) return { deleted, more: true };
      deleted += batch.gone;
      if (batch.next) left[0] = { ...task, after: batch.next };
      else left.shift();
      if (left.length > 0 && !(await pass.goesOn(performance.now() - began))) return { deleted, more: true };
    }
    return { deleted, more: false };
  }

  private async isThereAny(tasks: readonly Task[], ask: Ask): Promise<boolean> {
    for (let task of tasks) {
      for (;;) {
        const looked = { ...task, most: AT_ONCE, dryRun: true, alone: false };
        const batch = await ask(() => this.store.batch(looked));
        if (batch!.gone > 0) return true;
        if (!batch!.next) break;
        task = { ...task, after: batch!.next };
      }
    }
    return false;
  }

  private async tasksOf({ olderThan, name }: Pick<Cleanup, 'olderThan' | 'name'>): Promise<Task[]> {
    const { retentions } = this.registry;
    if (olderThan !== undefined) {
      const names = name === undefined ? await this.retrying(() => this.store.names()) : [name];
      return names.map((one) => ({ name: one, age: olderThan }));
    }
    const tasks = [...retentions].map(([one, age]) => ({ name: one, age }));
    const wanted = name === undefined ? tasks : tasks.filter((task) => task.name === name);
    if (wanted.length > 0) return wanted;
    const who = name === undefined ? 'no saga of this application has' : `the saga ${shown(name)} has no`;
    throw new SagaValidationError(
      `cleanup(): ${who}${name === undefined ? ' a' : ''} retention; give olderThan, or @Saga({ retention }).`,
    );
  }
}

type Cleanup = ReturnType<typeof readCleanup>;

const CLEANUP_OPTIONS = {
  olderThan: optional(kind.duration()),
  saga: optional(classOrName),
  limit: withDefault(kind.count(1, HIGHEST_LIMIT), CLEANUP_LIMIT),
  dryRun: withDefault(kind.flag, false),
} satisfies OptionTable<CleanupOptions>;

function readCleanup(given: CleanupOptions | undefined, registry: SagaRegistry) {
  const { saga, ...options } = readOptions('cleanup()', CLEANUP_OPTIONS, given);
  return { ...options, name: saga === undefined ? undefined : registry.nameOf(saga) };
}
