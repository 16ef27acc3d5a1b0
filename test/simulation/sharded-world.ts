import type { Type } from '@nestjs/common';
import { SagaShardUnavailableError } from '../../libs/saga/src/index.js';
import { buildSagaGraph } from '../../libs/saga/src/definition/build/build-saga-graph.js';
import { newSagaOf } from '../../libs/saga/src/engine/operate/new-saga.js';
import type { StoredSummary } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { StartedSaga } from '../../libs/saga/src/shards/place-saga.js';
import { shardNumberOf } from '../../libs/saga/src/shards/shard-id.js';
import { brokenPromises, type EndOfWorld, Outside, sagasOver } from './forgetting-world.js';
import { ForgetfulDatabase } from './forgetful-database.js';
import { type Dice, Rng } from './rng.js';
import { ShardOperator } from './shard-operator.js';
import { ShardedFleet } from './sharded-fleet.js';
import { POLL, type ShardedProcess, type SimulatedShard } from './sharded-process.js';
import { EPOCH } from './simulated-clock.js';
import { lockKeyNow } from './started.js';
import { Timeline } from './timeline.js';

const TROUBLE_UNTIL = 120_000;
const END = 500_000;
/** A process notices within so many milliseconds that a shard is lost, or can be reached again. */
const NOTICED = 3_000;
/** No saga starts on a shard that was drained before so many milliseconds: after the next poll of each process, and calls in progress. */
const CHANGE_NOTICED = POLL + 500;
/** A saga ends within so many milliseconds if its own shard is up. Those of a lock key wait for each other. */
const LONGEST_SAGA = 60_000;
/** A client repeats a start after so many milliseconds. */
const REPEAT = 700;
/** So many sagas with keys start twice within this time after a shard is admitted, when processes may differ about their homes. */
const RUSH = { sagas: 25, within: 12_000 };

interface Outage {
  readonly from: number;
  readonly to: number;
}

/** What a client does with a start. Returns the id of the saga that is there afterwards. */
type StartSaga = (process: ShardedProcess, saga: StartedSaga) => Promise<string>;

const started: StartSaga = (process, saga) => process.start(saga);

export interface ShardedWorldOptions {
  readonly startSaga?: StartSaga;
  /** Shards are added, drained and admitted: as docs/shards.md says, or before all processes have them. Default: not. */
  readonly operator?: 'careful' | 'hasty';
}

/** Processes that die and come back, over several databases, of which one or another is down for some time. */
export class ShardedWorld implements EndOfWorld {
  readonly outside: Outside;
  readonly acknowledged = new Set<string>();
  readonly failures: string[] = [];
  /** Starts and calls that failed because their shard was lost. */
  refusals = 0;
  private readonly timeline = new Timeline();
  private readonly chance: Rng;
  private readonly dice: Dice;
  private readonly shards: SimulatedShard[];
  private readonly outages = new Map<SimulatedShard, Outage[]>();
  private readonly fleet: ShardedFleet;
  private readonly startSaga: StartSaga;
  private readonly operator: ShardOperator | undefined;
  /** Clients whose saga is not acknowledged yet. */
  private waiting = 0;

  constructor(seed: number, { startSaga = started, operator }: ShardedWorldOptions = {}) {
    this.startSaga = startSaga;
    this.chance = new Rng(seed);
    this.dice = this.chance.for('sharded');
    this.outside = new Outside(this.timeline, this.chance.for('outside'));
    const names = ['eu', 'us', 'asia'].slice(0, this.dice.int(2, 3));
    this.shards = names.map((name, number) => ({
      row: { name, number, founders: names, accepting: true, changed: false, closed: false },
      database: new ForgetfulDatabase(this.timeline),
    }));
    const { timeline, chance, shards } = this;
    const types = sagasOver(this.outside).all;
    this.fleet = new ShardedFleet(shards, { timeline, chance, types, troubleUntil: TROUBLE_UNTIL });
    if (!operator) return;
    const dice = chance.for('operator');
    this.operator = new ShardOperator(shards, this.fleet, timeline, dice, operator, () => this.rush());
  }

  get ledger(): readonly string[] {
    return this.shards.flatMap(({ database }) => database.ledger);
  }

  async run(): Promise<void> {
    const { timeline, dice } = this;
    const { started: kinds } = sagasOver(this.outside);
    this.fleet.launch(dice.int(1, 3), 2);
    void this.operator?.run();
    for (let n = 1; n <= dice.int(20, 50); n += 1) {
      const saga = this.newSaga(n, dice.among(kinds));
      const isKeyed = !saga.fresh || saga.correlationId !== undefined;
      // Another client starts the same saga.
      for (let clients = isKeyed ? 2 : 1; clients > 0; clients -= 1) this.client(saga);
    }
    for (let n = 0; n < dice.int(2, 4); n += 1)
      timeline.after(dice.int(1_000, TROUBLE_UNTIL), () => this.lose(dice.among(this.shards)));
    for (let n = 0; n < 30; n += 1) timeline.after(dice.int(1_000, TROUBLE_UNTIL), () => void this.look());
    await timeline.run(() => timeline.now >= END);
  }

  /** The first process is ready. */
  private client(saga: StartedSaga): void {
    this.waiting += 1;
    this.timeline.after(this.dice.int(1_000, TROUBLE_UNTIL), () => void this.start(saga));
  }

  /** Two clients each start the same sagas with keys. */
  private rush(): void {
    const { timeline, chance, outside } = this;
    if (timeline.now > TROUBLE_UNTIL) return;
    const dice = chance.for('rush', timeline.now);
    const { started: kinds } = sagasOver(outside);
    for (let n = 0; n < RUSH.sagas; n += 1) {
      const graph = buildSagaGraph(kinds[0]!);
      const of = `rush-${Math.round(timeline.now)}-${n}`;
      const options = { id: `${graph.name}-${of}-0000`, fresh: true, priority: 0, correlationId: of };
      const saga = newSagaOf(graph, JSON.stringify({ n }), options, () => 0, lockKeyNow(graph, { n }));
      for (let client = 0; client < 2; client += 1) {
        this.waiting += 1;
        timeline.after(dice.int(0, RUSH.within), () => void this.start(saga));
      }
    }
  }

  async sagas(): Promise<StoredSummary[]> {
    const found = this.shards.map(({ database }) => database.memory.find({ limit: 10_000 }));
    return (await Promise.all(found)).flat();
  }

  async load(id: string) {
    const found = this.shards.map(({ database }) => database.memory.load({ id }));
    return (await Promise.all(found)).find((saga) => saga !== undefined);
  }

  /** A lock key holds on one shard, and has another home after a change. */
  databaseOf(id: string): unknown {
    return this.operator && this.shards.find(({ row }) => row.number === shardNumberOf(id));
  }

  /** The sagas on the shard that was added. */
  async sagasOnAdded(): Promise<readonly StoredSummary[]> {
    return (await this.operator?.added?.database.memory.find({ limit: 10_000 })) ?? [];
  }

  /** The sagas that started elsewhere while a shard accepted none. */
  async startedWhileDrained(): Promise<readonly StoredSummary[]> {
    const closed = this.operator?.closed ?? [];
    return (await this.sagas()).filter(({ createdAt }) =>
      closed.some(({ from, to }) => createdAt - EPOCH > from && createdAt - EPOCH < to),
    );
  }

  /** What was not kept, in words. */
  async broken(): Promise<string[]> {
    const broken = await brokenPromises(this);
    if (this.waiting > 0) broken.push(`${this.waiting} starts were never acknowledged`);
    const seen = new Set<string>();
    for (const shard of this.shards)
      for (const saga of await shard.database.memory.find({ limit: 10_000 })) {
        const { id, name, correlationId } = saga;
        for (const key of [id, correlationId && `${name} ${correlationId}`]) {
          if (key && seen.has(key)) broken.push(`${key} is on two shards`);
          if (key) seen.add(key);
        }
        if (!id.endsWith('-own') && shardNumberOf(id) !== shard.row.number)
          broken.push(`${id} is on ${shard.row.name}`);
        if (this.startedLate(shard, saga))
          broken.push(`${id} started on ${shard.row.name}, which was drained`);
        if (this.tookTooLong(shard, saga)) broken.push(`${id} was held up, although its shard was up`);
      }
    return broken;
  }

  /** A sub-saga starts on the shard of its parent. */
  private startedLate(shard: SimulatedShard, { name, createdAt }: StoredSummary): boolean {
    const at = createdAt - EPOCH;
    return (this.operator?.closed ?? []).some(({ shard: closed, from, to }) => {
      if (closed !== shard || name === 'part' || at < from || at > to) return false;
      // Who cannot reach the shard does not read of the change.
      const up = this.outagesOf(shard).filter((outage) => outage.to > from && outage.from <= at);
      return at > Math.max(from, ...up.map((outage) => outage.to)) + CHANGE_NOTICED;
    });
  }

  private tookTooLong(shard: SimulatedShard, { name, createdAt, finishedAt }: StoredSummary): boolean {
    const [from, to] = [createdAt - EPOCH, (finishedAt ?? Infinity) - EPOCH];
    const isDisturbed = this.outagesOf(shard).some((outage) => outage.from < to && outage.to > from);
    return name !== 'queue' && !isDisturbed && to - from > LONGEST_SAGA;
  }

  private lose(shard: SimulatedShard): void {
    if (shard.database.isDown) return;
    const { now } = this.timeline;
    const outage = { from: now, to: now + this.dice.int(10, 90_000) };
    this.outages.set(shard, [...this.outagesOf(shard), outage]);
    shard.database.isDown = true;
    this.timeline.after(outage.to - now, () => (shard.database.isDown = false));
  }

  /** With a correlation id, with an id that the application chose, or with neither. */
  private newSaga(n: number, type: Type): StartedSaga {
    const graph = buildSagaGraph(type);
    const kind = this.dice.among(['correlated', 'own', 'anywhere'] as const);
    const id = `${graph.name}-${n}${kind === 'own' ? '-own' : '-0000'}`;
    const correlationId = kind === 'correlated' ? `order-${n}` : undefined;
    const options = { id, fresh: kind !== 'own', priority: 0, correlationId };
    return newSagaOf(graph, JSON.stringify({ n }), options, () => 0, lockKeyNow(graph, { n }));
  }

  /** Again until it is acknowledged, by a process that lives. */
  private async start(saga: StartedSaga): Promise<void> {
    const { now } = this.timeline;
    const again = () => this.timeline.after(REPEAT, () => void this.start(saga));
    const isKeyed = !saga.fresh || saga.correlationId !== undefined || saga.lockKey !== undefined;
    if (isKeyed && this.operator?.paused) return void again();
    try {
      this.acknowledged.add(await this.fleet.use((process) => this.startSaga(process, saga)));
      this.waiting -= 1;
    } catch (error) {
      if (!(error instanceof SagaShardUnavailableError)) return void this.failures.push(String(error));
      this.refused(`the start of ${saga.id}`, now);
      again();
      if (!isKeyed && this.somewhereSince(now - NOTICED))
        this.failures.push(`${saga.id} could have started elsewhere`);
    }
  }

  /** Reads some saga that was acknowledged. It is there, or its shard is lost. */
  private async look(): Promise<void> {
    const id = this.dice.among([...this.acknowledged, 'none-own']);
    const { now } = this.timeline;
    try {
      const saga = await this.fleet.use(({ engine }) => engine.load({ id }));
      if (!saga && id !== 'none-own') this.failures.push(`${id} is not found`);
      if (this.timeline.now - now > NOTICED) this.failures.push(`load() of ${id} waited for its shard`);
    } catch (error) {
      if (!(error instanceof SagaShardUnavailableError)) this.failures.push(String(error));
      this.refused(`load() of ${id}`, now);
    }
  }

  private refused(call: string, began: number): void {
    this.refusals += 1;
    const took = this.timeline.now - began;
    if (took > NOTICED) this.failures.push(`${call} failed after ${took} ms`);
    if (!this.shards.some((shard) => this.isDisturbed(shard, began - NOTICED)))
      this.failures.push(`${call} failed, although all shards were up`);
  }

  /** Every process knows since then which shards are up, and one is. */
  private somewhereSince(time: number): boolean {
    const changed = [...this.outages.values()].flat().flatMap(({ from, to }) => [from, to]);
    const isSettled = changed.every((at) => at < time || at > this.timeline.now);
    const accepts = (shard: SimulatedShard) => this.operator?.hasAccepted(shard, time) ?? true;
    return isSettled && this.shards.some((shard) => accepts(shard) && !this.isDisturbed(shard, time));
  }

  private outagesOf(shard: SimulatedShard): readonly Outage[] {
    return this.outages.get(shard) ?? [];
  }

  private isDisturbed(shard: SimulatedShard, since: number): boolean {
    return this.outagesOf(shard).some(({ from, to }) => from <= this.timeline.now && to >= since);
  }
}
