import { SagaEngine } from '../../libs/saga/src/engine/saga-engine.js';
import type { EngineLog } from '../../libs/saga/src/engine/engine-log.js';
import type { RunnableSaga } from '../../libs/saga/src/engine/invoker.js';
import { Link } from './link.js';
import type { CallContext, Participants } from './participants.js';
import { MAX_TAKEOVERS, type Scenario } from './scenario.js';
import { SimulatedClock } from './simulated-clock.js';
import { SimulatedStore, type StoreWorld } from './simulated-store.js';
import { SimulatedWakeup } from './simulated-wakeup.js';
import { Life } from './timeline.js';
import type { Witness } from './witness.js';

const POLL = 1_000;
/** A process that is gone is started again, after so long (ms). */
const RESTART = [100, 3_000] as const;

export interface ProcessWorld extends StoreWorld {
  readonly scenario: Scenario;
  readonly participants: Participants;
  readonly witness: Witness;
}

/** A process that runs the engine as it is; it dies, and is started again, with another name each time. */
export class SimulatedProcess {
  readonly link = new Link();
  engine!: SagaEngine;
  life!: Life;
  private lives = 0;
  private wakeup!: SimulatedWakeup;
  private isStopping = false;

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
    const { scenario, timeline, witness } = this.world;
    const { name } = this;
    const life = (this.life = new Life());
    const dice = scenario.chance.for('process', name);
    const store = new SimulatedStore(this.world, name, life, this.link, dice);
    this.wakeup = new SimulatedWakeup(this.world, life, this.link, dice);
    const types = new Map(scenario.sagas.map(({ type, graph }) => [type, graph]));
    let ids = 0;
    this.engine = new SagaEngine(
      store,
      this.wakeup,
      this.runnable(name, life),
      { latest: (type) => types.get(type)!, checked: async (_, input) => input },
      {
        workerId: name,
        worker: this.isWorker
          ? { concurrency: scenario.concurrency, shutdownTimeout: 2_000, maxTakeovers: MAX_TAKEOVERS }
          : undefined,
        lease: scenario.lease,
        maxPayloadBytes: 2 ** 20,
        clock: new SimulatedClock(timeline, life, dice),
        random: dice.next,
        newId: () => `${name}/child-${(ids += 1)}`,
      },
      logTo(witness, name),
    );
    witness.note(() => `${name} begins`);
    void this.engine.start();
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

  pause(duration: number): void {
    this.life.pausedUntil = this.world.timeline.now + duration;
  }

  /** In good order. */
  async stop(): Promise<void> {
    const { life } = this;
    if (!life.isAlive || this.isStopping) return;
    this.isStopping = true;
    await this.engine.stop();
    if (!life.isAlive) return;
    this.world.witness.note(() => `${this.name} has shut down`);
    life.end();
    this.gone(life);
  }

  /** Connections are there again, after a time without. */
  reconnected(): void {
    this.wakeup.reconnected();
  }

  /** One that died by itself is seen to, and nothing slows it down any more. */
  heal(): void {
    this.link.mend();
    this.life.pausedUntil = 0;
    this.life.callsLeft = Infinity;
    this.reconnected();
  }

  private tick(life: Life): void {
    const tick = (): void => {
      if (!this.isStopping) this.engine.tick();
      this.tick(life);
    };
    this.world.timeline.after(POLL, tick, life);
  }

  /** Whatever takes it down, somebody finds out. */
  private watch(life: Life): void {
    this.world.timeline.after(POLL, () => {
      if (life.isAlive) this.watch(life);
      else this.gone(life);
    });
  }

  private gone(life: Life): void {
    const { timeline, scenario, witness } = this.world;
    if (life.restarts) return;
    life.restarts = true;
    witness.note(() => `${this.name} is gone`);
    void this.wakeup.stop();
    const [from, to] = RESTART;
    timeline.after(scenario.chance.for('restart', this.name).int(from, to), () => this.start());
  }

  private runnable(worker: string, life: Life): RunnableSaga[] {
    return this.world.scenario.sagas.map(({ graph }) => ({
      graph,
      invoke: (method, context, payload) =>
        this.world.participants.call(graph, method, context as CallContext, { worker, life }, payload),
    }));
  }
}

function logTo(witness: Witness, name: string): EngineLog {
  const say = (level: string) => (text: string) => witness.note(() => `${name} ${level}: ${text}`);
  return { debug: () => undefined, log: say('says'), warn: say('warns'), error: say('fails') };
}
