import type { Type } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { SagaEngine } from '../../libs/saga/src/engine/saga-engine.js';
import type { SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import type { EngineLog } from '../../libs/saga/src/engine/ports/engine-log.js';
import type { RunnableSaga } from '../../libs/saga/src/engine/ports/invoker.js';
import type { Relay } from '../../libs/messaging/src/relay/relay.js';
import { Link } from './link.js';
import type { MessageWorld } from './message-world.js';
import type { MessageHost } from './message-host.js';
import type { Participants } from './participants.js';
import type { CallContext } from './effect.js';
import { MAX_TAKEOVERS, type Scenario } from './scenario.js';
import { SimulatedClock } from './simulated-clock.js';
import { SimulatedStore, type StoreWorld } from './simulated-store.js';
import { SimulatedWakeup } from './simulated-wakeup.js';
import type { SimulatedSaga } from './random-saga.js';
import type { Tenants } from './tenants.js';
import { Life } from './timeline.js';
import { deployedIn, versionsIn } from './versions.js';
import type { InvariantChecker } from './invariant-checker.js';

const POLL = 1_000;
/** A process that is gone is started again, after so long (ms). */
const RESTART = [100, 3_000] as const;

export interface ProcessWorld extends StoreWorld {
  readonly scenario: Scenario;
  readonly participants: Participants;
  readonly checker: InvariantChecker;
  readonly messages: MessageWorld | undefined;
  readonly tenants: Pick<Tenants, 'caller'>;
  /** Starts some saga in the transaction of this manager. */
  readonly startWithin: (engine: SagaEngine, manager: EntityManager, id: string) => Promise<void>;
}

/** A process that runs the engine as it is; it dies, and is started again, with another name each time. */
export class SimulatedProcess {
  readonly link = new Link();
  engine!: SagaEngine;
  life!: Life;
  private lives = 0;
  private wakeup!: SimulatedWakeup;
  private isStopping = false;
  /** What of it has to do with messages. */
  host: MessageHost | undefined;
  private relay: Relay | undefined;
  private relayWakeup: SimulatedWakeup | undefined;
  /** The relay, or a handler, dies with its process in place of so many calls from now. */
  private relayCallsLeft = Infinity;
  private versions: ReadonlyMap<Type, readonly [SagaGraph, ...SagaGraph[]]> = new Map();

  constructor(
    private readonly world: ProcessWorld,
    private readonly number: number,
    private readonly isWorker: boolean,
  ) {}

  get name(): string {
    return `${this.isWorker ? 'worker' : 'client'}-${this.number}.${this.lives}`;
  }

  start(): void {
    this.lives += 1;
    this.isStopping = false;
    const { scenario, timeline, checker } = this.world;
    const { name } = this;
    const life = (this.life = new Life());
    const dice = scenario.chance.for('process', name);
    const store = new SimulatedStore(this.world, name, life, this.link, dice);
    this.wakeup = new SimulatedWakeup(this.world, life, this.link, dice);
    const deployed = deployedIn(scenario.chance, this.number, scenario.workers);
    const types = new Map(scenario.sagas.map((saga) => [saga.type, versionsIn(deployed, saga)]));
    this.versions = types;
    let ids = 0;
    this.engine = new SagaEngine(
      store,
      this.wakeup,
      this.runnable(name, life),
      { latest: (type) => types.get(type)!.at(-1)!, checked: async (_, input) => input },
      {
        workerId: name,
        worker: this.isWorker
          ? {
              ...{ concurrency: scenario.concurrency, ahead: scenario.ahead },
              ...{ shutdownTimeout: 2_000, maxTakeovers: MAX_TAKEOVERS },
            }
          : undefined,
        lease: scenario.lease,
        maxPayloadBytes: 2 ** 20,
        clock: new SimulatedClock(timeline, life, dice),
        random: dice.next,
        newId: () => `${name}/child-${(ids += 1)}`,
      },
      logTo(checker, name),
    );
    checker.note(() => `${name} begins`);
    void this.engine.start();
    this.relayMessages(life);
    this.tick(life);
    this.watch(life);
  }

  /** Gone, with all it had in mind. */
  crash(): void {
    const { life } = this;
    if (!life.isAlive) return;
    life.end();
    this.gone(life);
  }

  /** Gone in place of one of the next things that it asks of the world. */
  crashInCall(call: number): void {
    this.life.callsLeft = call;
  }

  /** The same, of what its relay and its handlers ask. */
  crashInRelayCall(call: number): void {
    this.relayCallsLeft = call;
  }

  pause(duration: number): void {
    this.life.pausedUntil = this.world.timeline.now + duration;
  }

  /** In good order. */
  async stop(): Promise<void> {
    const { life } = this;
    if (!life.isAlive || this.isStopping) return;
    this.isStopping = true;
    await Promise.all([this.engine.stop(), this.relay?.stop()]);
    if (!life.isAlive) return;
    this.world.checker.note(() => `${this.name} has shut down`);
    life.end();
    this.gone(life);
  }

  /** Connections are there again, after a time without. */
  reconnected(): void {
    this.wakeup.reconnected();
    this.relayWakeup?.reconnected();
  }

  /** One that died by itself is seen to, and nothing slows it down any more. */
  heal(): void {
    this.link.restore();
    this.life.pausedUntil = 0;
    this.life.callsLeft = this.relayCallsLeft = Infinity;
    this.reconnected();
  }

  /** Its relay and its handlers have a connection and chances of their own. */
  private relayMessages(life: Life): void {
    const { scenario, timeline, checker, messages, startWithin } = this.world;
    if (!messages) return;
    const { name, engine } = this;
    const dice = scenario.chance.for('relay', name);
    const call = (): boolean => {
      if (life.isAlive && (this.relayCallsLeft -= 1) <= 0) {
        this.relayCallsLeft = Infinity;
        life.end();
      }
      return life.isAlive;
    };
    const store = new SimulatedStore(this.world, name, life, this.link, dice, call);
    this.host = {
      ...{ name, life, dice, call, log: logTo(checker, name) },
      clock: new SimulatedClock(timeline, life, dice),
      send: (execute, options) => store.send(execute, options),
      start: (manager, id) => startWithin(engine, manager, id),
    };
    this.relay = this.number < messages.plan.relays ? messages.relayOf(this.host) : undefined;
    if (!this.relay) return;
    const { relay } = this;
    this.relayWakeup = new SimulatedWakeup(this.world, life, this.link, dice, messages.hub);
    void this.relayWakeup.start(() => relay.look());
    relay.start();
  }

  private tick(life: Life): void {
    const tick = (): void => {
      if (!this.isStopping) this.engine.tick();
      if (!this.isStopping) this.relay?.look();
      this.tick(life);
    };
    this.world.timeline.after(POLL, tick, life);
  }

  /** Detects the end of the process, whatever the cause. */
  private watch(life: Life): void {
    this.world.timeline.after(POLL, () => {
      if (life.isAlive) this.watch(life);
      else this.gone(life);
    });
  }

  private gone(life: Life): void {
    const { timeline, scenario, checker } = this.world;
    if (life.restarts) return;
    life.restarts = true;
    checker.lastLossAt = timeline.now;
    checker.note(() => `${this.name} is gone`);
    void this.wakeup.stop();
    void this.relayWakeup?.stop();
    const [from, to] = RESTART;
    timeline.after(scenario.chance.for('restart', this.name).int(from, to), () => this.start());
  }

  /** A transaction that is repeated, and an attempt whose start was being recorded, began before the pause was known. */
  private paused(graph: SagaGraph, step: string): void {
    const { transactional, idempotent } = graph.steps.get(step)!;
    if (!transactional && idempotent)
      this.world.checker.violate(
        'I34',
        `${this.name} begins ${step} of ${graph.name}, which it knows as paused`,
      );
  }

  /** The graph by which this process starts a saga of a class. */
  graphOf({ type }: SimulatedSaga, isSecond: boolean): SagaGraph {
    const versions = this.versions.get(type)!;
    return isSecond ? versions.at(-1)! : versions[0];
  }

  private runnable(worker: string, life: Life): RunnableSaga[] {
    return [...this.versions.values()].flat().map((graph) => ({
      graph,
      invoke: (method, context, payload) => {
        this.world.checker.runsBy(graph, context as CallContext, this.world.tenants.caller);
        if (this.engine.pauses.of(graph.name)?.has(method)) this.paused(graph, method);
        return this.world.participants.call(graph, method, context as CallContext, { worker, life }, payload);
      },
    }));
  }
}

function logTo(checker: InvariantChecker, name: string): EngineLog {
  const say = (level: string) => (text: string) => checker.note(() => `${name} ${level}: ${text}`);
  return { debug: () => undefined, log: say('says'), warn: say('warns'), error: say('fails') };
}
