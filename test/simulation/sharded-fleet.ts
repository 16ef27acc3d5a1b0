import type { Type } from '@nestjs/common';
import type { Dice, Rng } from './rng.js';
import { ShardedProcess, type SimulatedShard } from './sharded-process.js';
import { Life, type Timeline } from './timeline.js';

/** Processes of a new configuration take the place of the others within so many milliseconds. */
const DEPLOYMENT = 15_000;

export interface FleetOptions {
  readonly timeline: Timeline;
  readonly chance: Rng;
  readonly types: readonly Type[];
  /** Workers die before this time only. */
  readonly troubleUntil: number;
}

interface Running {
  readonly process: ShardedProcess;
  readonly life: Life;
  /** Calls of clients in progress. */
  calls: number;
}

/** The place of a process: if one dies, or is replaced by a newer one, another runs here. */
interface Place {
  readonly name: string;
  readonly isWorker: boolean;
  running: Running;
}

/** The processes of an application. Workers die now and then. Those that start sagas end only when they are replaced. */
export class ShardedFleet {
  private readonly places: Place[] = [];
  private readonly dice: Dice;
  private lives = 0;

  constructor(
    /** All of the configuration at present. */
    private readonly shards: readonly SimulatedShard[],
    private readonly options: FleetOptions,
  ) {
    this.dice = options.chance.for('fleet');
  }

  launch(workers: number, starters: number): void {
    for (let n = 0; n < workers + starters; n += 1) {
      const [name, isWorker] = [`process-${n}`, n < workers];
      const place: Place = { name, isWorker, running: this.started(name, isWorker) };
      this.places.push(place);
      this.letDie(place);
    }
  }

  /** Makes a call of a client, on a process that starts sagas. */
  async use<T>(call: (process: ShardedProcess) => Promise<T>): Promise<T> {
    const { running } = this.dice.among(this.places.filter(({ isWorker }) => !isWorker));
    running.calls += 1;
    try {
      return await call(running.process);
    } finally {
      running.calls -= 1;
    }
  }

  /** Replaces the processes by those of the present configuration, one after the other. Resolves when all old ones have ended. */
  async deploy(): Promise<void> {
    await Promise.all(
      this.places.map(async (place) => {
        await this.pass(this.dice.int(0, DEPLOYMENT));
        await this.replace(place);
      }),
    );
  }

  private async replace(place: Place): Promise<void> {
    const old = place.running;
    const next = this.started(place.name, place.isWorker);
    await next.process.ready;
    place.running = next;
    this.letDie(place);
    while (old.calls > 0) await this.pass(10);
    old.life.end();
  }

  private letDie(place: Place): void {
    const { timeline, troubleUntil } = this.options;
    const { life } = place.running;
    if (!place.isWorker || timeline.now >= troubleUntil) return;
    timeline.after(
      this.dice.int(5_000, troubleUntil),
      () => {
        life.end();
        // It is being replaced already.
        if (place.running.life !== life) return;
        place.running = this.started(place.name, place.isWorker);
        this.letDie(place);
      },
      life,
    );
  }

  private started(place: string, isWorker: boolean): Running {
    const { timeline, chance, types } = this.options;
    const name = `${place}.${(this.lives += 1)}`;
    const [life, dice] = [new Life(), chance.for(name)];
    const process = new ShardedProcess([...this.shards], { name, isWorker, types, timeline, dice, life });
    return { process, life, calls: 0 };
  }

  private pass(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void this.options.timeline.after(milliseconds, resolve));
  }
}
