import type { SagaFilter, SagaSnapshot } from '../../../libs/saga/src/index.js';
import { allowedCalls } from '../../../libs/saga/src/engine/operate/call-rules.js';
import { moveTo } from '../../../libs/saga/src/engine/versions/saga-upgrades.js';
import { recordOf } from '../../../libs/saga/src/definition/describe/graph-record.js';
import { obstacleToMove } from '../../../libs/saga/src/machine/can-upgrade.js';
import type { SagaRegistry } from '../../../libs/saga/src/nest/discovery/saga.registry.js';
import { waitOf, type WaitName, WAITS } from '../../../libs/saga/src/nest/views/waiting-for.js';
import type { StoreSubject } from '../../contract/store-subject.contract.js';
import { type Call, CALLS, HOUR, type Outcome, PROVIDERS, ran, type Scene, SCENES } from './wait-scenes.js';
import { isTerminal } from '../../../libs/saga/src/machine/saga-state.js';
import { until } from '../../support/gate.js';
import { keepAll, queryOf } from './failing-over-store.js';
import { registryOf, WaitWorld } from './wait-world.js';

/** A saga that waits. */
interface Waiting {
  readonly kind: WaitName;
  readonly scene: Scene;
  readonly id: string;
  readonly before: SagaSnapshot;
  readonly giveBack?: () => Promise<void>;
}

const ALL = Object.entries(SCENES).flatMap(([kind, scenes]) =>
  scenes === 'due' ? [] : scenes.map((scene) => ({ kind: kind as WaitName, scene })),
);

/** What it waits for, without the time since when: what is asked for again is waited for anew. */
function waitShown({ waitingFor }: SagaSnapshot): unknown {
  const { since: _, approvals: __, ...wait } = (waitingFor ?? {}) as Record<string, unknown>;
  return JSON.parse(JSON.stringify(wait));
}

class Walk {
  private waiting: Waiting[] = [];
  /** What makes the database lose its last commits. */
  readonly lose: { [What in 'nothing' | 'checkpoints' | 'start']?: () => Promise<void> } = {
    nothing: async () => {},
  };

  constructor(readonly world: WaitWorld) {}

  private get due(): ReadonlySet<string> {
    return new Set(this.waiting.filter(({ scene }) => scene.isDue).map(({ id }) => id));
  }

  get resting(): string[] {
    return this.waiting.filter(({ scene }) => !scene.isDue).map(({ id }) => id);
  }

  get ids(): string[] {
    return this.waiting.map(({ id }) => id);
  }

  /** A saga waits in each way. */
  async begin(): Promise<void> {
    const { world } = this;
    const { service } = world;
    const query = queryOf(world.subject);
    const gives = await Promise.all(
      ALL.map(({ scene }) => scene.take?.(world.store) ?? Promise.resolve(undefined)),
    );
    await world.admit();
    this.lose.start = query && (await keepAll(query));
    const made: Omit<Waiting, 'before'>[] = [];
    for (const [n, { kind, scene }] of ALL.entries()) {
      const { id } = await service.start(scene.saga, {}, scene.options);
      made.push({ kind, scene, id, giveBack: gives[n] });
    }
    this.waiting = made as Waiting[];
    this.lose.checkpoints = query && (await keepAll(query));
    await world.work();
    await this.settle();
    for (const { scene, id } of made) await scene.begin?.(world, id);
    await this.settle();
    this.waiting = [];
    for (const one of made) {
      const [before, saga] = [await service.get(one.id), await world.load(one.id)];
      const rows = waitOf(saga, await this.around(saga));
      expect([one.scene.saga, rows?.name ?? before.waitingFor]).toEqual([one.scene.saga, one.kind]);
      this.waiting.push({ ...one, before });
    }
  }

  private async around(saga: Parameters<typeof waitOf>[0]): Promise<Parameters<typeof waitOf>[1]> {
    const { pauses, now } = await this.world.store.pauses.all(0);
    const graph = this.world.registry.all.find((one) => one.graph.name === saga.name)!.graph;
    const [child] = [...saga.state.steps.values()].flatMap((step) => step.child?.id ?? []);
    const called = child === undefined ? undefined : await this.world.load(child);
    const isRemote = called !== undefined && [...graph.steps.values()].some(({ remote }) => remote);
    return {
      ...{ graph, now, pauses: pauses.filter((one) => one.saga === saga.name), limit: graph.limit?.count },
      ...(isRemote && { remote: { saga: called, deployed: true } }),
    };
  }

  settle(): Promise<void> {
    return this.world.settle(this.ids, this.due);
  }

  async failOver(losing: keyof Walk['lose']): Promise<void> {
    const { world } = this;
    await world.failOver(this.lose[losing]!);
    await this.settle();
    for (const { id, scene, before } of this.waiting) {
      const isLost = losing === 'start' || (losing === 'checkpoints' && before.revision > 0);
      const [last] = (await world.operations.history(id)).toReversed();
      expect([scene.saga, last?.action === 'put-back']).toEqual([scene.saga, isLost]);
    }
  }

  async each(act: (one: Waiting) => Promise<unknown>): Promise<void> {
    for (const one of this.waiting) await act(one);
    await this.settle();
  }

  /** Those that wait as before have not run; and whatever they wait for ends it. */
  async check(outcomeOf: (one: Waiting) => Outcome | 'over', moves = 0): Promise<void> {
    const { service } = this.world;
    const waits: Waiting[] = [];
    await this.resume(this.waiting.filter((one) => outcomeOf(one) === 'paused'));
    expect(await this.world.unexplained()).toEqual([]);
    const [byStep, bySignal] = [await this.found({ step: 'first' }), await this.found({ waitingFor: 'go' })];
    for (const one of this.waiting) {
      const now = await service.get(one.id);
      const outcome = outcomeOf(one);
      const name = one.scene.saga;
      if (outcome === 'over') continue;
      if (['completed', 'compensated', 'aborted'].includes(outcome)) {
        expect([name, now.status, now.waitingFor]).toEqual([name, outcome, undefined]);
        continue;
      }
      waits.push(one);
      if (outcome === 'later') continue;
      const was = waitShown({ ...one.before, waitingFor: later(one.before.waitingFor, moves) });
      expect([name, now.status]).toEqual([name, one.before.status]);
      if (outcome === 'moved') expect([name, waitShown(now)]).not.toEqual([name, was]);
      else expect([name, waitShown(now)]).toEqual([name, was]);
      expect([name, ran.get(one.id) ?? 0]).toEqual([name, one.scene.hasRun ?? 0]);
      if (outcome === 'moved') continue;
      const isAwaiting = one.scene.awaits === 'go';
      expect([name, byStep.has(one.id), bySignal.has(one.id)]).toEqual([name, true, isAwaiting]);
    }
    await this.end(waits, outcomeOf);
  }

  private async found(filter: SagaFilter): Promise<ReadonlySet<string>> {
    const { items } = await this.world.service.find(filter);
    return new Set(items.map(({ id }) => id));
  }

  /** What an operator is offered for each saga, and what not. A call that changes nothing may be either. */
  async checkOffers(): Promise<void> {
    const [shown, expected]: [unknown[], unknown[]] = [[], []];
    for (const { id, scene } of this.waiting) {
      const saga = await this.world.load(id);
      const { now } = await this.world.store.pauses.all(0);
      const { graph } = this.world.registry.all.find((one) => one.graph.name === scene.saga)!;
      const offered = allowedCalls(saga, graph, now).map(({ kind }) => kind);
      const calls = (Object.keys(CALLS) as Call[]).filter((call) => scene.after[call] !== 'same');
      const works = calls.filter((call) => scene.after[call] !== 'refused');
      shown.push([scene.saga, calls.filter((call) => offered.includes(call))]);
      expected.push([scene.saga, works]);
    }
    expect(shown).toEqual(expected);
  }

  private async resume(paused: readonly Waiting[]): Promise<void> {
    const { service, operations } = this.world;
    for (const { id, scene } of paused) {
      const { status, waitingFor } = await service.get(id);
      expect([scene.saga, status, waitingFor?.kind]).toEqual([scene.saga, 'paused', 'paused']);
      await operations.resume(id);
    }
    await this.settle();
  }

  private async end(waits: readonly Waiting[], outcomeOf: (one: Waiting) => Outcome | 'over'): Promise<void> {
    const { service } = this.world;
    for (const { giveBack } of this.waiting) await giveBack?.();
    for (const one of waits) await one.scene.end?.(this.world, one.id);
    await this.world.pass(8 * HOUR);
    const open = async () => {
      const sagas = await Promise.all(waits.map(({ id }) => this.world.load(id)));
      return sagas.filter(({ state }) => !isTerminal(state.status)).map(({ name }) => name);
    };
    const giveUpAt = performance.now() + 10_000;
    await until(async () => (await open()).length === 0 || performance.now() > giveUpAt);
    expect(await open()).toEqual([]);
    for (const one of waits) {
      const { status } = await service.get(one.id);
      if (outcomeOf(one) === 'later') expect(['completed', 'compensated', one.scene.ends]).toContain(status);
      else expect([one.scene.saga, status]).toEqual([one.scene.saga, one.scene.ends ?? 'completed']);
    }
  }
}

/** The time that a wait has, moved with the clock. */
function later(wait: SagaSnapshot['waitingFor'], ms: number): SagaSnapshot['waitingFor'] {
  const moved = Object.entries(wait ?? {}).map(([key, value]: [string, unknown]) => [
    key,
    value instanceof Date ? new Date(value.getTime() + ms) : value,
  ]);
  return wait && (Object.fromEntries(moved) as SagaSnapshot['waitingFor']);
}

/** What may happen to a saga that waits, and changes nothing but what `outcome` names. */
interface Disturbance {
  readonly disturb: (walk: Walk) => Promise<void>;
  /** Default: it waits as before. */
  readonly outcome?: (one: Waiting) => Outcome | 'over';
  /** Only where a database outlives its process. */
  readonly needsDatabase?: true;
  /** So many milliseconds earlier, by the clock of the database. */
  readonly isBackBy?: number;
}

/** Not what an operator has asked for: this is not put back. */
const lostOperation = ({ scene }: Waiting) => (scene.isPaused === 'saga' ? 'later' : 'same');

const DISTURBANCES: Readonly<Record<string, Disturbance>> = {
  'an operator pauses and resumes its step': {
    disturb: async (walk) => {
      const { operations } = walk.world;
      await walk.each(({ scene }) => operations.pauseStep(scene.saga, 'first'));
      await walk.each(({ scene }) => operations.resumeStep(scene.saga, 'first'));
    },
    outcome: ({ scene }) => (scene.isPaused === 'step' ? 'over' : 'same'),
  },
  'it is made due for no reason': { disturb: (walk) => walk.each(({ id }) => wake(walk.world, id)) },
  'its worker is lost': {
    disturb: async (walk) => {
      const { world } = walk;
      await world.end();
      // A worker takes each, and is lost.
      for (const id of walk.resting) await wake(world, id);
      const sagas = ALL.flatMap(({ scene }) => (scene.isDue ? [] : { name: scene.saga, version: 1 }));
      await world.store.claim({ lease: { worker: 'lost', duration: 0 }, sagas, limit: 100 });
      await world.begin();
      await walk.settle();
    },
  },
  'there is a failover that loses nothing': {
    needsDatabase: true,
    disturb: (walk) => walk.failOver('nothing'),
  },
  'a failover loses all of its checkpoints': {
    needsDatabase: true,
    disturb: (walk) => walk.failOver('checkpoints'),
    outcome: lostOperation,
  },
  'a failover loses its start': {
    needsDatabase: true,
    disturb: (walk) => walk.failOver('start'),
    outcome: lostOperation,
  },
  'a failover loses its start, and its worker is lost as well': {
    needsDatabase: true,
    disturb: async (walk) => {
      const { world } = walk;
      await world.loseWorker();
      await world.failOver(walk.lose.start!);
      await world.work();
      await walk.settle();
    },
    // It begins anew.
    outcome: () => 'later',
  },
  'it is moved to another version': {
    disturb: async (walk) => {
      const { world } = walk;
      await world.end();
      for (const id of walk.ids) await move(world, id);
      await world.begin();
      await walk.settle();
    },
  },
  'the clock is set back': {
    isBackBy: 2 * HOUR,
    disturb: async (walk) => {
      await walk.world.pass(-2 * HOUR);
      await walk.settle();
    },
    // What was due is due again once the clock shows that time.
    outcome: ({ kind }) => (WAITS[kind].endedBy === 'worker' ? 'later' : 'same'),
  },
};

async function move(world: WaitWorld, id: string): Promise<void> {
  const { name } = await world.load(id);
  const { graph } = world.registry.all.find((one) => one.graph.name === name)!;
  const to = { ...graph, version: 2 };
  await world.store.edit({ id }, (saga, now) =>
    obstacleToMove(recordOf(graph), to, saga.state) === undefined ? moveTo(to, saga, now) : undefined,
  );
}

async function wake({ store }: WaitWorld, id: string): Promise<void> {
  await store.edit({ id }, ({ state }) => {
    const isGoing = state.status === 'running' || state.status === 'compensating';
    return isGoing ? { state, step: 'first', due: true } : undefined;
  });
}

/** What a store is tested for, with each kind of wait. */
interface Tested {
  /** It outlives its process, and fails over. */
  readonly isDatabase: boolean;
}

/** Each kind of wait beside all that may happen to it, on any store. */
export function describeWaits(
  name: string,
  subjectOf: () => Promise<StoreSubject>,
  { isDatabase }: Tested,
): void {
  describe(`each kind of wait, ${name},`, () => {
    let registry: SagaRegistry;
    let subject: StoreSubject;
    let walk: Walk;
    beforeAll(async () => {
      registry = await registryOf(PROVIDERS);
    });
    beforeEach(async () => {
      ran.clear();
      subject = await subjectOf();
      walk = new Walk(new WaitWorld(subject, registry));
      await walk.begin();
    });
    afterEach(async () => {
      await walk.world.end();
      await subject.close();
    });

    const disturbances = Object.entries(DISTURBANCES).filter((one) => isDatabase || !one[1].needsDatabase);
    test.each(disturbances)(
      'stays as it is if %s, and ends as it would have',
      async (_name, { disturb, outcome = () => 'same', isBackBy = 0 }) => {
        await disturb(walk);
        // On PostgreSQL the stored times move, and not the clock.
        await walk.check(outcome, isDatabase ? isBackBy : 0);
      },
    );

    test('is offered the calls that the table does not refuse, and no others', () => walk.checkOffers());

    test.each(Object.entries(CALLS))('comes to what the table says after %s', async (call, act) => {
      const refused = new Set<string>();
      await walk.each(async ({ id, scene }) => {
        try {
          await act(walk.world, id);
        } catch (error) {
          refused.add(scene.saga);
          if (scene.after[call as Call] !== 'refused') throw error;
        }
      });
      const expected = ALL.filter(({ scene }) => scene.after[call as Call] === 'refused');
      expect([...refused].sort()).toEqual(expected.map(({ scene }) => scene.saga).sort());
      await walk.check(({ scene }) =>
        scene.after[call as Call] === 'refused' ? 'same' : scene.after[call as Call],
      );
    });
  });
}
