import type { SagaSnapshot } from '../../../libs/saga/src/index.js';
import { MadeCheckpoint } from '../../../libs/saga/src/engine/write/made-checkpoint.js';
import { decidePutBack } from '../../../libs/saga/src/engine/write/decide-put-back.js';
import { KnownCheckpoint, KnownSaga } from '../../../libs/saga/src/engine/write/recent-sagas.js';
import { moveTo } from '../../../libs/saga/src/engine/versions/saga-upgrades.js';
import { recordOf } from '../../../libs/saga/src/definition/describe/graph-record.js';
import { obstacleToMove } from '../../../libs/saga/src/machine/can-upgrade.js';
import type { SagaRegistry } from '../../../libs/saga/src/nest/discovery/saga.registry.js';
import { waitOf, type WaitName, WAITS } from '../../../libs/saga/src/nest/views/waiting-for.js';
import {
  checkpointOf,
  type StoreSubject,
} from '../../../libs/saga/src/store/contract/store-subject.contract.js';
import { memorySubject } from '../../../libs/saga/src/store/memory/memory-subject.contract.js';
import { postgresSubject } from '../../../libs/saga/src/store/postgres/postgres-subject.contract.js';
import { type Call, CALLS, HOUR, type Outcome, PROVIDERS, ran, type Scene, SCENES } from './wait-scenes.js';
import { isTerminal } from '../../../libs/saga/src/machine/saga-state.js';
import { until } from '../../support/gate.js';
import { registryOf, WaitWorld } from './wait-world.js';

let registry: SagaRegistry;
beforeAll(async () => {
  registry = await registryOf(PROVIDERS);
});

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
    const gives = await Promise.all(
      ALL.map(({ scene }) => scene.take?.(world.store) ?? Promise.resolve(undefined)),
    );
    await world.begin();
    const made: Omit<Waiting, 'before'>[] = [];
    for (const [n, { kind, scene }] of ALL.entries()) {
      const { id } = await service.start(scene.saga, {}, scene.options);
      made.push({ kind, scene, id, giveBack: gives[n] });
    }
    this.waiting = made as Waiting[];
    await this.settle();
    for (const { scene, id } of made) await scene.begin?.(service, id);
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
      ...{ graph, now, pauses: pauses.filter((one) => one.saga === saga.name), limit: graph.concurrency },
      ...(isRemote && { remote: { saga: called, deployed: true } }),
    };
  }

  settle(): Promise<void> {
    return this.world.settle(this.ids, this.due);
  }

  async each(act: (one: Waiting) => Promise<unknown>): Promise<void> {
    for (const one of this.waiting) await act(one);
    await this.settle();
  }

  /** Those that wait as before have not run; and whatever they wait for ends it. */
  async check(outcomeOf: (one: Waiting) => Outcome | 'over', moves = 0): Promise<void> {
    const { service } = this.world;
    const waits: Waiting[] = [];
    expect(await this.world.unexplained()).toEqual([]);
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
    }
    await this.end(waits, outcomeOf);
  }

  private async end(waits: readonly Waiting[], outcomeOf: (one: Waiting) => Outcome | 'over'): Promise<void> {
    const { service } = this.world;
    for (const { giveBack } of this.waiting) await giveBack?.();
    for (const one of waits) await one.scene.end?.(service, one.id);
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

/** What may happen to a saga that waits, and changes nothing. */
const DISTURBANCES: Readonly<Record<string, (walk: Walk) => Promise<void>>> = {
  'an operator pauses and resumes it': async (walk) => {
    const { service } = walk.world;
    await walk.each(({ id }) => service.pause(id).catch(() => undefined));
    await walk.each(({ id }) => service.resume(id).catch(() => undefined));
  },
  'an operator pauses and resumes its step': async (walk) => {
    const { service } = walk.world;
    await walk.each(({ scene }) => service.pauseStep(scene.saga, 'first'));
    await walk.each(({ scene }) => service.resumeStep(scene.saga, 'first'));
  },
  'it is made due for no reason': (walk) => walk.each(({ id }) => wake(walk.world, id)),
  'its worker is lost': async (walk) => {
    const { world } = walk;
    await world.end();
    // A worker takes each, and is lost.
    for (const id of walk.resting) await wake(world, id);
    const sagas = ALL.flatMap(({ scene }) => (scene.isDue ? [] : { name: scene.saga, version: 1 }));
    await world.store.claim({ lease: { worker: 'lost', duration: 0 }, sagas, limit: 100 });
    await world.begin();
    await walk.settle();
  },
  'a failover has lost its last checkpoint, which its process puts back': async (walk) => {
    const { world } = walk;
    await world.end();
    for (const id of walk.ids) await putBack(world, id);
    await world.begin();
    await walk.settle();
  },
  'it is moved to another version': async (walk) => {
    const { world } = walk;
    await world.end();
    for (const id of walk.ids) await move(world, id);
    await world.begin();
    await walk.settle();
  },
  'the clock is set back': async (walk) => {
    await walk.world.pass(-2 * HOUR);
    await walk.settle();
  },
};

/** Its process knows a checkpoint, and the claim before it, that the database has not. */
async function putBack(world: WaitWorld, id: string): Promise<void> {
  const saga = await world.load(id);
  const { name, checkpoints, lock } = saga;
  const epoch = saga.epoch + 1;
  const parts = {
    ...checkpointOf({ id, epoch }, saga.state, { number: checkpoints + 1, step: 'first' }),
    ...{ lock: lock && { name, key: lock.key }, parent: saga.parent, release: {}, tags: undefined },
    ...{ notes: undefined, openApprovals: undefined, failedAttempt: undefined, fresh: undefined },
    ...{ elapsed: undefined, starts: undefined, after: undefined, holder: undefined },
    ...{ messages: undefined, heldBy: undefined },
  };
  const known = new KnownSaga(id, 0, 0);
  known.claimed = { ...saga, epoch };
  known.last = new KnownCheckpoint(new MadeCheckpoint(parts, 0, 0, 0, 0, 0, 0), false, undefined);
  const { graph } = world.registry.all.find((one) => one.graph.name === name)!;
  await world.store.edit({ id }, (row, now) => {
    const lease = { worker: 'gone', duration: 1 };
    const decided = decidePutBack({ known, row, isNew: false, runsUnder: undefined, lease, graph, now });
    if (typeof decided === 'string') throw new Error(`${name} is not put back: ${decided}`);
    return { putBack: decided };
  });
}

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

describe.each<[string, () => Promise<StoreSubject>]>([
  ['in memory', () => memorySubject()],
  ['on PostgreSQL', () => postgresSubject()],
])('each kind of wait, %s,', (_, subjectOf) => {
  let subject: StoreSubject;
  let walk: Walk;
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

  test.each(Object.entries(DISTURBANCES))(
    'stays as it is if %s, and ends as it would have',
    async (name, disturb) => {
      await disturb(walk);
      const resumes = name.startsWith('an operator pauses') && (name.endsWith('step') ? 'step' : 'saga');
      // On PostgreSQL the stored times move, and not the clock.
      const isBack = name === 'the clock is set back';
      const moves = isBack && 'query' in subject ? 2 * HOUR : 0;
      await walk.check(({ scene, kind }) => {
        if (scene.isResumed === resumes) return 'over';
        // What was due is due again once the clock shows that time.
        return isBack && WAITS[kind].endedBy === 'worker' ? 'later' : 'same';
      }, moves);
    },
  );

  test.each(Object.entries(CALLS))('comes to what the table says after %s', async (call, act) => {
    const refused = new Set<string>();
    await walk.each(async ({ id, scene }) => {
      try {
        await act(walk.world.service, id);
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
