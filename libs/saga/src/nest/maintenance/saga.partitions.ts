import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineLog } from '../../engine/ports/engine-log.js';
import { SagaConfigurationError } from '../../errors.js';
import type { Partitions } from '../../store/postgres/schema/partition-saga-tables.js';
import type {
  Partitioning,
  PostgresPartitions,
} from '../../store/postgres/partitions/postgres-partitions.js';
import type { SagaPoller } from './saga.poller.js';
import { Maintenance } from './maintenance.js';

/** The name of the interval that maintains partitions, among the application's scheduled intervals. */
export const SAGA_PARTITIONS_INTERVAL = 'saga:partitions';

/** Partitions that are there before their time. */
const AHEAD: Readonly<Record<Partitions, number>> = { daily: 7, weekly: 2 };
/** Milliseconds between two passes. */
const EVERY = 60_000;
/** One in which too much has to stay is looked at again after this (ms). */
const KEPT_FOR = 3_600_000;
/** Milliseconds for which a start tries again what others held the tables at: they start as well, and look at their sagas. */
const START_PATIENCE = 5_000;
/** Milliseconds between two tries of a start. */
const START_PAUSE = 100;
/** lock_not_available */
const LOCKED = '55P03';

/** Makes the partitions of sagas' tables ahead of time, and drops those in which all has outlived its retention. */
export class SagaPartitions extends Maintenance {
  private partitioning: Partitioning | undefined;
  private readonly keptUntil = new Map<string, number>();

  constructor(
    private readonly store: PostgresPartitions,
    private readonly retentions: ReadonlyMap<string, number>,
    poller: Pick<SagaPoller, 'start' | 'stop'>,
    log: EngineLog,
  ) {
    super(poller, SAGA_PARTITIONS_INTERVAL, log);
  }

  /**
   * Sees how the tables are partitioned, and to it that there is one for what is started now.
   * @throws SagaConfigurationError if they are so in another way than was asked for
   */
  async prepare(wanted: Partitions | undefined): Promise<void> {
    this.partitioning = await this.store.read();
    const is = this.partitioning?.partitions;
    if (is !== undefined && wanted !== undefined && is !== wanted) {
      throw new SagaConfigurationError(
        `SagaModule: partitions is '${wanted}', but the tables already have ${is} partitions, which cannot be changed. ` +
          `Give '${is}', or remove the option.`,
      );
    }
    const until = performance.now() + START_PATIENCE;
    while (!(await this.makeAhead()) && performance.now() < until) await sleep(START_PAUSE);
  }

  /** How much later (ms) rows are deleted that could also go with their whole partition. */
  get grace(): number {
    return 2 * (this.partitioning?.period ?? 0);
  }

  /** From now on by itself, if there are any. */
  start(): void {
    if (this.partitioning) this.startPasses(EVERY);
  }

  protected async pass(): Promise<void> {
    try {
      await this.makeAhead();
      if (this.partitioning) await this.dropOld(this.partitioning);
    } catch (error) {
      this.log.warn(
        `Partitions could not be maintained; the next run tries again: ${(error as Error).message}`,
      );
    }
  }

  /** False: another transaction locked the tables, and some partitions are still missing. */
  private async makeAhead(): Promise<boolean> {
    if (!this.partitioning) return true;
    const ahead = AHEAD[this.partitioning.partitions];
    let made: boolean | undefined;
    do made = await unlessLocked(this.store.makeAhead(ahead));
    while (made && !this.signal.aborted);
    return made !== undefined;
  }

  private async dropOld(partitioning: Partitioning): Promise<void> {
    for (const name of await this.store.leaving()) await this.forget(name);
    const longest = Math.max(...this.retentions.values());
    if (longest === -Infinity) return;
    const now = Date.now();
    for (const partition of await this.store.list(partitioning)) {
      const { name, to } = partition;
      if (to + longest > now || (this.keptUntil.get(name) ?? 0) > now) continue;
      const moved = await unlessLocked(this.store.drop(partition, this.retentions));
      if (moved === 'kept') this.keptUntil.set(name, now + KEPT_FOR);
      if (typeof moved !== 'number') continue;
      this.log.debug(
        `The partition ${name} was dropped; ${moved} of its sagas were kept in the default partition`,
      );
      await this.forget(name);
    }
  }

  private async forget(name: string): Promise<void> {
    let after: string | undefined;
    let began: number;
    do {
      began = performance.now();
      after = await this.store.forget(name, after);
    } while (after !== undefined && (await this.pause(performance.now() - began)));
  }
}

/** Undefined: another transaction held a lock that is needed for a moment. The next pass tries again. */
async function unlessLocked<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as { code?: unknown }).code === LOCKED) return undefined;
    throw error;
  }
}
