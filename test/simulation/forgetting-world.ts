import type { Type } from '@nestjs/common';
import { Saga, Step, StepRejectedError, SubSaga } from '../../libs/saga/src/index.js';
import { buildSagaGraph } from '../../libs/saga/src/definition/build/build-saga-graph.js';
import { BEYOND } from '../../libs/saga/src/engine/ports/put-back.js';
import type { SagaStore, StoredSummary } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { newSagaOf } from '../../libs/saga/src/engine/operate/new-saga.js';
import { SagaEngine } from '../../libs/saga/src/engine/saga-engine.js';
import { isTerminal } from '../../libs/saga/src/machine/saga-state.js';
import type { Clock } from '../../libs/saga/src/shared/clock.js';
import { ConnectionGone, ForgetfulDatabase, type LedgerTransaction, partBy } from './forgetful-database.js';
import { type Dice, Rng } from './rng.js';
import { SimulatedClock } from './simulated-clock.js';
import { lockKeyNow } from './started.js';
import { Life, Timeline } from './timeline.js';

const TROUBLE_UNTIL = 40_000;
const END = 400_000;
const LEASE = 5_000;
const QUIET = { debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined };

interface Input {
  readonly n: number;
}
interface Context {
  readonly sagaId: string;
  readonly idempotencyKey: string;
  readonly attempt: number;
  readonly input: Input;
  readonly manager?: unknown;
}

/** The outside, which forgets nothing: what was done, in order, and how often it was asked for. */
export class Outside {
  readonly effects = new Map<string, { readonly sagaId: string; readonly place: number; calls: number }>();

  constructor(
    private readonly timeline: Timeline,
    private readonly dice: Dice,
  ) {}

  async act({ sagaId, idempotencyKey }: Context): Promise<string> {
    await this.takeTime();
    const effect = this.effects.get(idempotencyKey) ?? { sagaId, place: this.effects.size, calls: 0 };
    effect.calls += 1;
    this.effects.set(idempotencyKey, effect);
    await this.takeTime();
    return idempotencyKey;
  }

  private takeTime(): Promise<void> {
    const delay = this.dice.long(1, 2_000);
    return new Promise((resolve) => void this.timeline.after(delay, resolve));
  }
}

/** The sagas of the world, over one outside. */
export function sagasOver(outside: Outside) {
  const RETRY = { retry: { attempts: 50, delay: 100 }, compensationRetry: { attempts: 50, delay: 100 } };

  class Base {
    act(ctx: Context) {
      if (ctx.input.n % 5 === 0 && ctx.attempt === 1) throw new Error('try again');
      return outside.act(ctx);
    }
    last(ctx: Context) {
      if (ctx.input.n % 3 === 0) throw new StepRejectedError('refused');
      return outside.act(ctx);
    }
    async undo(ctx: Context) {
      await outside.act(ctx);
    }
  }
  @Saga({ name: 'plain', ...RETRY })
  class Plain extends Base {
    @Step({ compensate: 'undo' }) reserve(ctx: Context) {
      return this.act(ctx);
    }
    @Step({ compensate: 'undo' }) charge(ctx: Context) {
      return this.act(ctx);
    }
    @Step({ compensate: 'undo' }) confirm(ctx: Context) {
      return this.last(ctx);
    }
  }
  @Saga({ name: 'booked', ...RETRY })
  class Booked extends Base {
    @Step({ compensate: 'undo' }) reserve(ctx: Context) {
      return this.act(ctx);
    }
    @Step({ transactional: true, compensate: 'unbook' }) book({ manager, sagaId }: Context) {
      (manager as LedgerTransaction).entries.push(`${sagaId} booked`);
      return 'booked';
    }
    unbook({ manager, sagaId }: Context) {
      (manager as LedgerTransaction).entries.push(`${sagaId} unbooked`);
    }
    @Step({ compensate: 'undo' }) confirm(ctx: Context) {
      return this.last(ctx);
    }
  }
  @Saga({ name: 'once', ...RETRY })
  class Once extends Base {
    @Step({ compensate: 'undo' }) reserve(ctx: Context) {
      return this.act(ctx);
    }
    @Step({ idempotent: false }) notify(ctx: Context) {
      return outside.act(ctx);
    }
    @Step() confirm(ctx: Context) {
      return outside.act(ctx);
    }
  }
  @Saga({ name: 'queue', lockKey: ({ input }: { input: Input }) => `key ${input.n % 2}`, ...RETRY })
  class Queue extends Base {
    @Step({ compensate: 'undo' }) enter(ctx: Context) {
      return this.act(ctx);
    }
    @Step({ compensate: 'undo' }) leave(ctx: Context) {
      return this.last(ctx);
    }
  }
  @Saga({ name: 'family', ...RETRY })
  class Family extends Base {
    @Step({ compensate: 'undo' }) pay(ctx: Context) {
      return this.act(ctx);
    }
    @SubSaga(() => Part) ship({ sagaId, input }: Context): Input & { parent: string } {
      return { ...input, parent: sagaId };
    }
    @Step({ compensate: 'undo' }) confirm(ctx: Context) {
      return this.last(ctx);
    }
  }
  @Saga({ name: 'part', ...RETRY })
  class Part extends Base {
    @Step({ compensate: 'undo' }) pack(ctx: Context & { input: Input & { parent: string } }) {
      return this.act(ctx);
    }
    @Step({ compensate: 'undo' }) send(ctx: Context) {
      return this.act(ctx);
    }
  }
  return { started: [Plain, Booked, Once, Queue, Family], all: [Plain, Booked, Once, Queue, Family, Part] };
}

/** Processes that live, over a database that forgets its last commits again and again. */
export class ForgettingWorld implements EndOfWorld {
  private readonly timeline = new Timeline();
  private readonly chance: Rng;
  private readonly dice: Dice;
  readonly database: ForgetfulDatabase;
  readonly outside: Outside;
  readonly acknowledged = new Set<string>();
  readonly failures: string[] = [];
  private readonly engines: SagaEngine[] = [];

  constructor(
    seed: number,
    /** Undefined: nothing is put back. */
    private readonly recovery: { readonly window: number; readonly bytes: number } | undefined,
  ) {
    this.chance = new Rng(seed);
    this.dice = this.chance.for('forgetting');
    this.database = new ForgetfulDatabase(this.timeline);
    this.outside = new Outside(this.timeline, this.chance.for('outside'));
  }

  async run(): Promise<void> {
    const sagas = sagasOver(this.outside);
    const workers = this.dice.int(1, 3);
    for (let n = 0; n <= workers; n += 1) this.process(n, n < workers, sagas.all);
    for (let n = 1; n <= this.dice.int(10, 40); n += 1)
      this.timeline.after(this.dice.int(0, TROUBLE_UNTIL), () =>
        this.start(n, this.dice.among(sagas.started)),
      );
    for (let n = 0; n < this.dice.int(1, 4); n += 1)
      this.timeline.after(this.dice.int(1_000, TROUBLE_UNTIL), () => this.failOver());
    this.cleanUp(sagas.all);
    await this.timeline.run(() => this.timeline.now >= END);
  }

  /** What has ended is deleted soon, again and again. A failover may lose the deletion as well. */
  private cleanUp(types: readonly Type[]): void {
    const dice = this.chance.for('cleanup');
    if (!dice.happens(0.6)) return;
    const every = dice.int(500, 10_000);
    const age = dice.among([0, 1_000, 10_000]);
    const tick = () => {
      this.timeline.after(every, tick);
      if (this.database.isDown || this.timeline.now > TROUBLE_UNTIL * 2) return;
      for (const type of types) void this.database.cleanUp(buildSagaGraph(type).name, age);
    };
    tick();
  }

  /** Those of these sagas that were deleted. */
  async deleted(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const revisions = await this.database.memory.revisions(ids);
    return new Set(revisions.filter(({ epoch }) => epoch === BEYOND).map(({ id }) => id));
  }

  /** All sagas, as they are stored in the end. */
  sagas() {
    return this.database.memory.find({ limit: 10_000 });
  }

  get ledger(): readonly string[] {
    return this.database.ledger;
  }

  get revived(): ReadonlySet<string> {
    return this.database.revived;
  }

  load(id: string): Promise<StoredSaga | undefined> {
    return this.database.memory.load({ id });
  }

  private failOver(): void {
    if (this.database.isDown) return;
    this.database.isDown = true;
    const lag = this.dice.int(0, 1_500);
    void this.database.failOver(lag);
    this.timeline.after(this.dice.int(0, 6_000), () => (this.database.isDown = false));
  }

  private start(n: number, type: Type): void {
    const graph = buildSagaGraph(type);
    const id = `${graph.name}-${n}`;
    const given = { id, fresh: true, priority: 0, correlationId: id };
    const made = newSagaOf(graph, JSON.stringify({ n }), given, () => 0, lockKeyNow(graph, { n }));
    const engine = this.dice.among(this.engines);
    engine.submit(made).then(
      () => this.acknowledged.add(id),
      (error: Error) => this.failures.push(error.message),
    );
  }

  private process(n: number, isWorker: boolean, types: readonly Type[]): void {
    const dice = this.chance.for(`process ${n}`);
    const clock = new SimulatedClock(this.timeline, new Life(), dice);
    const runnable = types.map((type) => {
      const instance = new type() as Record<string, (context: object) => unknown>;
      return { graph: buildSagaGraph(type), invoke: (name: string, ctx: object) => instance[name]!(ctx) };
    });
    let ids = 0;
    const engine = new SagaEngine(
      this.connect(clock, dice),
      this.database.hub.wakeup(),
      isWorker ? runnable : [],
      { latest: (type) => buildSagaGraph(type), checked: async (_, input) => input },
      {
        workerId: `process-${n}`,
        worker: isWorker
          ? { concurrency: dice.among([2, 20]), shutdownTimeout: 1_000, maxTakeovers: 20 }
          : undefined,
        ...{ lease: LEASE, maxPayloadBytes: 2 ** 20, clock, random: dice.next, recovery: this.recovery },
        newId: () => `process-${n}/${(ids += 1)}`,
      },
      QUIET,
    );
    this.engines.push(engine);
    void engine.start();
    const tick = () => {
      engine.tick();
      this.timeline.after(1_000, tick);
    };
    tick();
  }

  /** The store as a process has it. It asks the first connection after a failover, as the timeline guard does. */
  private connect(clock: Clock, dice: Dice): SagaStore {
    const { timeline, database } = this;
    let era = 0;
    let lastFailoverAt = -Infinity;
    const pass = () => new Promise<void>((resolve) => void timeline.after(dice.long(0.2, 50), resolve));
    const send = async (name: string, parameters: readonly unknown[]) => {
      const known = era;
      await pass();
      // A connection that was asked for before a failover was noticed is not used: what the statement relies on may be gone.
      if (database.isDown || era !== known) throw new ConnectionGone();
      if (era !== database.era) {
        era = database.era;
        lastFailoverAt = clock.monotonic();
        throw new ConnectionGone();
      }
      const sentTo = database.era;
      const result = await database.execute(name, parameters);
      await pass();
      if (database.isDown || sentTo !== database.era) throw new ConnectionGone();
      return result;
    };
    return new Proxy({} as SagaStore, {
      get: (_, name) => {
        if (name === 'then') return undefined;
        if (name === 'lastFailoverAt') return lastFailoverAt;
        const part = partBy(name, send);
        if (part) return part;
        if (name === 'isOutage' || name === 'isTransient')
          return (error: unknown) => error instanceof ConnectionGone;
        if (name === 'refuses') return () => false;
        return (...parameters: readonly unknown[]) => send(String(name), parameters);
      },
    });
  }
}

/** What a world has in the end. */
export interface EndOfWorld {
  readonly acknowledged: ReadonlySet<string>;
  readonly failures: readonly string[];
  /** Sagas that were deleted after their end, and started again. Default: none. */
  readonly revived?: ReadonlySet<string>;
  readonly outside: Outside;
  /** What transactions have written, in order. */
  readonly ledger: readonly string[];
  /** All sagas, as they are stored. */
  sagas(): Promise<readonly StoredSummary[]>;
  load(id: string): Promise<StoredSaga | undefined>;
  /** Those of these sagas that were deleted after their end. Default: none. */
  deleted?(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** The database of a saga: a lock key holds in one. Default: there is one. */
  databaseOf?(id: string): unknown;
}

/** What was not kept, in words. */
export async function brokenPromises(world: EndOfWorld): Promise<string[]> {
  const sagas = await world.sagas();
  const known = new Map(sagas.map((saga) => [saga.id, saga]));
  const broken = world.failures.map((message) => `a start failed: ${message}`);
  const missing = [...world.acknowledged, ...[...world.outside.effects.values()].map(({ sagaId }) => sagaId)];
  const deleted = await world.deleted?.(missing.filter((id) => !known.has(id)));
  for (const id of world.revived ?? []) broken.push(`${id} was deleted, and is started again`);
  for (const id of world.acknowledged)
    if (!known.has(id) && !deleted?.has(id)) broken.push(`${id} is forgotten`);
  const parents = new Map<string, string>();
  for (const { id, status } of sagas) if (!isTerminal(status)) broken.push(`${id} is still ${status}`);
  for (const [key, { sagaId, calls }] of world.outside.effects) {
    const saga = known.get(sagaId);
    if (!saga && !deleted?.has(sagaId)) broken.push(`${key} was done, and its saga is not there`);
    if (key.endsWith(':notify') && calls > 1) broken.push(`${key} ran ${calls} times`);
    if (saga?.status === 'completed' && key.endsWith(':compensate')) broken.push(`${key} was undone`);
    const done = key.endsWith(':compensate') || world.outside.effects.has(`${key}:compensate`);
    if (saga?.status === 'compensated' && !done && !key.endsWith(':notify'))
      broken.push(`${key} is left behind`);
    if (saga?.name === 'part') {
      const stored = await world.load(sagaId);
      const { parent } = JSON.parse(stored!.input!) as { parent: string };
      if ((parents.get(parent) ?? sagaId) !== sagaId) broken.push(`${parent} has two parts`);
      parents.set(parent, sagaId);
    }
  }
  return [...broken, ...brokenLedger(world, sagas), ...overlaps(world)];
}

function brokenLedger(world: EndOfWorld, sagas: readonly StoredSummary[]): string[] {
  return sagas.flatMap(({ id, name, status }) => {
    if (name !== 'booked') return [];
    const written = world.ledger.filter((entry) => entry.startsWith(`${id} `)).join(', ');
    const right = status === 'completed' ? [`${id} booked`] : [`${id} booked, ${id} unbooked`, ''];
    return right.includes(written) ? [] : [`${id} is ${status} and wrote: ${written}`];
  });
}

/** Sagas of one lock key are one after the other. */
function overlaps(world: EndOfWorld): string[] {
  const spans = new Map<string, { id: string; key: number; first: number; last: number }>();
  for (const { sagaId: id, place } of world.outside.effects.values()) {
    if (!id.startsWith('queue-')) continue;
    const key = Number(id.split('-')[1]) % 2;
    spans.set(id, { id, key, first: spans.get(id)?.first ?? place, last: place });
  }
  const all = [...spans.values()];
  const isBeside = (one: string, other: string) => world.databaseOf?.(one) === world.databaseOf?.(other);
  return all.flatMap((one) =>
    all
      .filter(
        (other) =>
          isBeside(one.id, other.id) &&
          other.key === one.key &&
          other.first > one.first &&
          other.first < one.last,
      )
      .map((other) => `${other.id} ran beside ${one.id}, of the same lock key`),
  );
}
