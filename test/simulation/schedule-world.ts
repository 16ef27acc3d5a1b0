import { type SagaGraph, sagaLabel } from '../../libs/saga/src/definition/graph/saga-graph.js';
import type { SagaSchedule } from '../../libs/saga/src/definition/options/schedule-options.js';
import { SagaObservers } from '../../libs/saga/src/engine/observe/saga-observers.js';
import { ScheduleTicker } from '../../libs/saga/src/engine/schedule/schedule-ticker.js';
import { StoreRetry } from '../../libs/saga/src/engine/write/store-retry.js';
import { isTerminal } from '../../libs/saga/src/machine/saga-state.js';
import { StoreClock } from '../../libs/saga/src/shared/store-clock.js';
import { Database } from './database.js';
import { InvariantChecker } from './invariant-checker.js';
import { Link } from './link.js';
import { type Dice, Rng } from './rng.js';
import type { Weather } from './scenario.js';
import { EPOCH, SimulatedClock } from './simulated-clock.js';
import { SimulatedStore } from './simulated-store.js';
import { Life, Timeline } from './timeline.js';

const MINUTE = 60_000;
const TICK = 10 * MINUTE;
const NAME = 'nightly';
/** Processes come and go until then; afterwards they live, and nothing fails. */
const TROUBLE_UNTIL = 20 * TICK;
const END = 26 * TICK + MINUTE;

export interface ScheduledSaga {
  readonly id: string;
  readonly correlationId: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** The correlation ids of the sagas of all ticks until the end. */
export const ALL_TICKS = Array.from(
  { length: 26 },
  (_, n) => `schedule:${new Date(EPOCH + (n + 1) * TICK).toISOString()}`,
);

const QUIET = { debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined };

/**
 * Processes that run one schedule over one database, while all of it fails: statements are lost or arrive twice, processes
 * die in the middle of them, clocks are wrong, the database is down.
 */
export class ScheduleWorld {
  private readonly timeline = new Timeline();
  private readonly chance: Rng;
  private readonly dice: Dice;
  private readonly database: Database;
  private readonly weather: { -readonly [K in keyof Weather]: Weather[K] };
  private readonly sagas: { id: string; correlationId: string; startedAt: number; endedAt: number }[] = [];
  private processes = 0;
  errors = 0;

  constructor(
    seed: number,
    private readonly rules: Pick<SagaSchedule, 'overlap' | 'catchUp'>,
  ) {
    this.chance = new Rng(seed);
    this.dice = this.chance.for('schedules');
    const graph = graphOf(rules);
    const graphs = new Map([[sagaLabel(graph), graph]]);
    this.database = new Database(this.timeline, new InvariantChecker(this.timeline, graphs, true, false));
    this.weather = { ...CALM, ...(this.dice.happens(0.8) && { lost: 0.1, unanswered: 0.15 }) };
  }

  async run(): Promise<readonly ScheduledSaga[]> {
    for (let n = 0; n < 3; n += 1) this.process(this.dice.int(0, TICK), n);
    for (let n = 0; n < 3; n += 1)
      this.timeline.after(this.dice.int(0, TROUBLE_UNTIL), () => {
        this.database.downUntil = this.timeline.now + this.dice.int(0, 3 * TICK);
      });
    this.timeline.after(TROUBLE_UNTIL, () => {
      Object.assign(this.weather, CALM);
      this.database.downUntil = 0;
    });
    this.look();
    await this.timeline.run(() => this.timeline.now >= END);
    return this.sagas.sort((a, b) => a.startedAt - b.startedAt);
  }

  /** Sagas are seen when they are there, and end some time later: nothing runs them. */
  private look(): void {
    const { store } = this.database;
    this.timeline.after(MINUTE / 2, () => {
      void store.find({ name: NAME, limit: 1_000 }).then((found) => {
        for (const { id, correlationId, status, createdAt } of found)
          if (!isTerminal(status) && !this.sagas.some((saga) => saga.id === id))
            this.begin(id, correlationId!, createdAt - EPOCH);
      });
      this.look();
    });
  }

  private begin(id: string, correlationId: string, startedAt: number): void {
    const saga = { id, correlationId, startedAt, endedAt: Infinity };
    this.sagas.push(saga);
    this.timeline.after(this.dice.long(MINUTE, 4 * TICK), () => {
      saga.endedAt = this.timeline.now;
      void this.database.store.edit({ id }, ({ state }) => ({
        ...{ state: { ...state, status: 'completed' }, due: false, step: '' },
      }));
    });
  }

  private process(delay: number, number: number): void {
    this.timeline.after(delay, () => {
      const name = `process-${number}.${(this.processes += 1)}`;
      const dice = this.chance.for(name);
      const life = new Life();
      this.schedules(name, dice, life).start();
      if (this.timeline.now > TROUBLE_UNTIL) return;
      if (dice.happens(0.5)) life.callsLeft = dice.int(1, 12);
      else
        this.timeline.after(dice.int(0, 4 * TICK), () => {
          if (this.timeline.now < TROUBLE_UNTIL) life.end();
        });
      const whenGone = () => {
        if (life.isAlive && this.timeline.now < TROUBLE_UNTIL) this.timeline.after(MINUTE, whenGone);
        else if (!life.isAlive) this.process(dice.long(1_000, 5 * TICK), number);
        // From now on it lives.
        else life.callsLeft = Infinity;
      };
      whenGone();
    });
  }

  private schedules(name: string, dice: Dice, life: Life): ScheduleTicker {
    const { timeline, weather, database } = this;
    const clock = new SimulatedClock(timeline, life, dice);
    const store = new SimulatedStore({ timeline, weather, database }, name, life, new Link(), dice);
    let ids = 0;
    return new ScheduleTicker([graphOf(this.rules)], {
      ...{ store, clock, storeClock: new StoreClock(clock), observers: new SagaObservers(QUIET) },
      retry: new StoreRetry({ store, clock, random: dice.next, log: QUIET }),
      definitions: { checked: async (_, input) => input },
      newId: () => `${name}/${(ids += 1)}`,
      maxPayloadBytes: 1_000,
      log: { ...QUIET, error: () => (this.errors += 1) },
    });
  }
}

const CALM: Weather = { delay: [1, 200], lost: 0, unanswered: 0, late: 0, hintsLost: 0, failing: 0 };

function graphOf(rules: Pick<SagaSchedule, 'overlap' | 'catchUp'>): SagaGraph {
  const next = (after: number) => (Math.floor(after / TICK) + 1) * TICK;
  return {
    ...{ name: NAME, version: 1, onFailure: 'compensate', steps: new Map() },
    schedule: { cron: '*/10 * * * *', timezone: 'UTC', ...rules, next },
  };
}
