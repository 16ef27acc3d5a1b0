import { randomUUID } from 'node:crypto';
import type { StoredSchedule } from '../../libs/saga/src/engine/ports/stored-schedule.js';
import type { Checkpoint } from '../../libs/saga/src/engine/ports/checkpoint.js';
import type { NewSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { PENDING } from '../../libs/saga/src/machine/saga-state.js';
import type { PostgresGraphStore } from '../../libs/saga/src/store/postgres/postgres-graph-store.js';
import type { PostgresSagaStore } from '../../libs/saga/src/store/postgres/postgres-saga-store.js';

const BATCH = 250;
export const LEASE = { worker: 'worker', duration: 60_000 };

/** What calls are made on. */
export interface CalledStore {
  readonly store: PostgresSagaStore;
  readonly graphs: PostgresGraphStore;
  /** Called when the call itself comes next. */
  prepared(): void;
}

export const newSagas = (given: Partial<NewSaga> = {}, count = BATCH): NewSaga[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{
      id: randomUUID(),
      fresh: true,
      name: 'order',
      version: 1,
      priority: 0,
      step: 'reserve',
      leased: true,
    },
    correlationId: `new-${randomUUID()}-${n}`,
    input: '{"sku":"a"}',
    ...given,
  }));

/** Each is later than all before. */
let checkpoints = 0;

export const checkpointOf = ({ id }: { id: string }, changed = ['reserve', 'charge']): Checkpoint => ({
  ...{
    id,
    epoch: 1,
    number: (checkpoints += 1),
    step: 'charge',
    advances: true,
    cancelSeen: false,
    pauseSeen: false,
  },
  changed,
  state: {
    status: 'running',
    round: 1,
    steps: new Map(
      changed.map((name) => [name, { ...PENDING, status: 'completed', attempts: 1, result: '1' }]),
    ),
  },
});

const lastCheckpointOf = (saga: NewSaga): Checkpoint => {
  const { state, ...checkpoint } = checkpointOf(saga);
  return { ...checkpoint, state: { ...state, status: 'completed' }, release: {} };
};

export const signal = () => ({ name: 'reply', messageId: randomUUID(), payload: '1' });

/**
 * The store's calls, in their usual and their unusual ways. There are finished sagas `order`, `old-1` to
 * `old-250` at least.
 */
export const STORE_CALLS: Record<string, (on: CalledStore) => Promise<unknown>> = {
  prepare: (on) => on.store.prepare(),
  start: (on) => on.store.start(newSagas(), LEASE),
  'start of what is there': (on) =>
    on.store.start(
      newSagas().map((saga, n) => ({ ...saga, correlationId: `old-${n + 1}` })),
      LEASE,
    ),
  checkpoint: async (on) => {
    const sagas = newSagas();
    await on.store.start(sagas, LEASE);
    on.prepared();
    await on.store.checkpoint(sagas.map((saga) => checkpointOf(saga)));
  },
  'checkpoint of one saga': async (on) => {
    const [saga] = newSagas({}, 1) as [NewSaga];
    await on.store.start([saga], LEASE);
    on.prepared();
    await on.store.checkpoint([checkpointOf(saga, ['reserve'])]);
  },
  'checkpoint of a lost lease': async (on) => {
    const sagas = newSagas();
    await on.store.start(sagas, LEASE);
    on.prepared();
    await on.store.checkpoint(sagas.map((saga) => ({ ...checkpointOf(saga), epoch: 9 })));
  },
  'checkpoint of approvals that begin and end to wait': async (on) => {
    const sagas = newSagas();
    await on.store.start(sagas, LEASE);
    on.prepared();
    for (const open of [['charge'], []]) {
      const openApprovals = open.map((step) => ({ step, since: 1_000 }));
      await on.store.checkpoint(sagas.map((saga) => ({ ...checkpointOf(saga), openApprovals })));
    }
  },
  claim: async (on) => {
    await on.store.start(newSagas({ leased: false }), LEASE);
    on.prepared();
    const sagas = ['order', 'refund', 'shipment'].map((name) => ({ name, version: 1 }));
    expect((await on.store.claim({ lease: LEASE, sagas, limit: 100 })).sagas).toHaveLength(100);
  },
  'claim of sagas that were sent signals': async (on) => {
    const name = `signalled-${randomUUID()}`;
    const sagas = newSagas({ name, leased: false });
    await on.store.start(sagas, LEASE);
    await on.store.signal(sagas.map(({ id }) => ({ ...signal(), target: { id } })));
    on.prepared();
    const claim = await on.store.claim({ lease: LEASE, sagas: [{ name, version: 1 }], limit: 100 });
    expect(claim.sagas.map(({ signals }) => signals?.length)).toEqual(claim.sagas.map(() => 1));
  },
  signal: async (on) => {
    const sagas = newSagas({ leased: false });
    await on.store.start(sagas, LEASE);
    on.prepared();
    await on.store.signal([
      ...sagas.map(({ id }) => ({ ...signal(), target: { id } })),
      ...sagas.map(({ name, correlationId }) => ({
        ...signal(),
        target: { name, correlationId: correlationId! },
      })),
      { ...signal(), target: { name: 'order', correlationId: randomUUID() } },
    ]);
  },
  'a look at what was sent': async (on) => {
    const [saga] = newSagas({}, 1) as [NewSaga];
    await on.store.start([saga], LEASE);
    await on.store.signal([{ ...signal(), target: { id: saga.id } }]);
    on.prepared();
    expect(await on.store.pendingSignals(saga.id)).toHaveLength(1);
  },
  'checkpoint that publishes': async (on) => {
    const sagas = newSagas();
    await on.store.start(sagas, LEASE);
    on.prepared();
    const message = { topic: 'a', key: 'b', type: 'c', payload: '1', headers: {} };
    await on.store.checkpoint(
      sagas.map((saga, n) => ({
        ...checkpointOf(saga),
        epoch: n === 0 ? 9 : 1,
        messages: [{ ...message, id: randomUUID() }],
      })),
    );
  },
  renew: async (on) => {
    const sagas = newSagas();
    await on.store.start(sagas, LEASE);
    on.prepared();
    const { lost } = await on.store.renew(
      sagas.map(({ id }) => ({ id, epoch: 1 })),
      LEASE,
    );
    expect(lost).toEqual([]);
  },
  report: async (on) => {
    const sagas = newSagas();
    await on.store.start(sagas, LEASE);
    on.prepared();
    const { lost } = await on.store.renew(
      sagas.map(({ id }) => ({ id, epoch: 1, reports: '{"a":{"round":1}}' })),
      LEASE,
    );
    expect(lost).toEqual([]);
  },
  changes: async (on) => {
    const sagas = newSagas();
    await on.store.start(sagas, LEASE);
    on.prepared();
    const changes = await on.store.changes(sagas.map(({ id }) => ({ id })));
    expect(changes).toHaveLength(sagas.length);
    const seen = changes.map((change) => ({ id: change.id, seen: change.seen }));
    expect(await on.store.changes(seen)).toEqual([]);
  },
  watch: async (on) => {
    const sagas = newSagas();
    await on.store.start(sagas, LEASE);
    on.prepared();
    await on.store.watch(sagas.map(({ id }) => id));
  },
  load: async (on) => {
    await on.store.load({ name: 'order', correlationId: 'old-7' });
    await on.store.load({ name: 'order', correlationId: randomUUID() });
  },
  'start of sagas with a lock': (on) =>
    on.store.start(
      newSagas().map((saga, n) => ({ ...saga, lockKey: `k${n % 10}` })),
      LEASE,
    ),
  'claim of sagas with a lock': async (on) => {
    const name = `locked-${randomUUID()}`;
    await on.store.start(
      newSagas({ name, leased: false }).map((saga, n) => ({ ...saga, lockKey: `k${n % 10}` })),
      LEASE,
    );
    on.prepared();
    expect(await on.store.claim({ lease: LEASE, sagas: [{ name, version: 1 }], limit: 100 })).toMatchObject({
      sagas: { length: 10 },
    });
  },
  'last checkpoint of sagas with a lock': async (on) => {
    const name = `locked-${randomUUID()}`;
    await on.store.start(
      newSagas({ name, leased: false }).map((saga, n) => ({ ...saga, lockKey: `k${n % 10}` })),
      LEASE,
    );
    const { sagas } = await on.store.claim({ lease: LEASE, sagas: [{ name, version: 1 }], limit: 100 });
    on.prepared();
    await on.store.checkpoint(
      sagas.map((saga) => {
        const { state, ...checkpoint } = checkpointOf(saga);
        const lock = { name, key: saga.lock!.key };
        return { ...checkpoint, state: { ...state, status: 'completed' }, release: {}, lock };
      }),
    );
  },
  'abort of a saga with a lock': async (on) => {
    const [first, second] = newSagas({ name: `locked-${randomUUID()}`, lockKey: 'k' }, 2) as [
      NewSaga,
      NewSaga,
    ];
    await on.store.start([first, second], LEASE);
    await on.store.claim({ lease: LEASE, sagas: [first], limit: 2 });
    on.prepared();
    const { state } = checkpointOf(first);
    await on.store.edit(first, () => ({ state: { ...state, status: 'aborted' }, step: '', due: false }));
  },
  'load of a saga that waits for its lock': async (on) => {
    const [first, second] = newSagas({ name: `locked-${randomUUID()}`, lockKey: 'k' }, 2) as [
      NewSaga,
      NewSaga,
    ];
    await on.store.start([first, second], LEASE);
    on.prepared();
    expect(await on.store.load(second)).toMatchObject({ lock: { holder: first.id } });
  },
  'claim of sagas with a limit': async (on) => {
    const name = `limited-${randomUUID()}`;
    await on.store.start(newSagas({ name, leased: false }), LEASE);
    await on.store.start(newSagas({ leased: false }), LEASE);
    on.prepared();
    const sagas = [
      { name, version: 1, maxLeases: 100 },
      { name: 'order', version: 1 },
    ];
    const { length } = (await on.store.claim({ lease: LEASE, sagas, limit: 50 })).sagas;
    expect(length).toBe(50);
  },
  'claim of sagas with a limit for each key': async (on) => {
    const name = `keyed-${randomUUID()}`;
    await on.store.start(
      newSagas({ name, leased: false }).map((saga, n) => ({ ...saga, limitKey: `k${n % 3}` })),
      LEASE,
    );
    on.prepared();
    const sagas = [{ name, version: 1, maxLeases: 10, keyed: true }];
    expect((await on.store.claim({ lease: LEASE, sagas, limit: 50 })).sagas).toHaveLength(30);
  },
  'times of a rate limit of a key': async (on) => {
    const limit = { saga: randomUUID(), step: 'charge', key: 'a', count: 1, per: 1 };
    await on.store.reserve(limit, 1);
    on.prepared();
    for (const key of ['a', 'b', 'c']) await on.store.reserve({ ...limit, key }, 1);
  },
  'slots of a step': async (on) => {
    const limit = { saga: `slotted-${randomUUID()}`, step: 'charge', key: 'a', count: 1 };
    const [first, second, third] = newSagas({ name: limit.saga }, 3);
    await on.store.start([first!, second!, third!], LEASE);
    const holder = ({ id }: NewSaga) => ({ id, epoch: 1, turn: 1 });
    const { stepSlots } = on.store;
    expect(await stepSlots.take(limit, holder(first!), ['charge'])).toEqual(['charge']);
    expect(await stepSlots.take(limit, holder(second!), ['charge'])).toEqual([]);
    await on.store.checkpoint([lastCheckpointOf(second!)]);
    expect(await stepSlots.take(limit, holder(third!), ['charge'])).toEqual([]);
    on.prepared();
    // The second does not wait any more, and the third is called.
    await stepSlots.free(limit, holder(first!), ['charge']);
    expect(await stepSlots.take(limit, holder(third!), ['charge'])).toEqual(['charge']);
    await stepSlots.sweep([{ name: limit.saga, version: 1, steps: new Map([['charge', 1]]) }]);
    await stepSlots.free(limit, holder(third!), ['charge']);
  },
  'a start that is rejected for its lock': async (on) => {
    const lock = {
      name: `rejecting-${randomUUID()}`,
      lockKey: 'k',
      lockRejects: true as const,
      leased: false,
    };
    const [first, ...others] = newSagas(lock);
    await on.store.start([first!], LEASE);
    on.prepared();
    const results = await on.store.start(others, LEASE);
    expect(results[0]).toEqual({ created: false, lockHolder: first!.id });
  },
  'claim in the place of leases that have run out': async (on) => {
    const name = `limited-${randomUUID()}`;
    await on.store.start(newSagas({ name, leased: false }), LEASE);
    const claim = { sagas: [{ name, version: 1, maxLeases: 50 }], limit: 50 };
    await on.store.claim({ ...claim, lease: { ...LEASE, duration: 0 } });
    on.prepared();
    expect((await on.store.claim({ ...claim, lease: { ...LEASE, duration: 0 } })).sagas).toHaveLength(50);
  },
  'claim while a limit is used up': async (on) => {
    const name = `limited-${randomUUID()}`;
    await on.store.start(newSagas({ name, leased: false }), LEASE);
    const claim = { lease: LEASE, sagas: [{ name, version: 1, maxLeases: 50 }], limit: 100 };
    await on.store.claim(claim);
    on.prepared();
    expect((await on.store.claim(claim)).sagas).toEqual([]);
  },
  'pauses of steps': async (on) => {
    const step = { saga: `paused-${randomUUID()}`, step: 'charge' };
    await on.store.pauses.pause(step, { by: 'ann' });
    const sagas = newSagas({ name: step.saga });
    await on.store.start(sagas, LEASE);
    on.prepared();
    const rest = { heldBy: ['charge'], release: {} };
    await on.store.checkpoint(sagas.map((saga) => ({ ...checkpointOf(saga, ['reserve']), ...rest })));
    await on.store.pauses.resume(step, {});
    await on.store.pauses.wake(step);
    expect((await on.store.pauses.all(10)).pauses.map(({ saga }) => saga)).toContain(step.saga);
  },
  'checkpoint that sets tags': async (on) => {
    const sagas = newSagas();
    await on.store.start(sagas, LEASE);
    on.prepared();
    await on.store.checkpoint(sagas.map((saga, n) => ({ ...checkpointOf(saga), tags: { n: `${n}` } })));
  },
  schedules: async (on) => {
    const { schedules } = await on.store.schedules();
    expect(schedules).toEqual(expect.any(Array));
  },
  'tick of a schedule': async (on) => {
    const saga = `scheduled-${randomUUID()}`;
    const schedule: StoredSchedule = {
      ...{ saga, cron: '* * * * *', timezone: 'UTC', overlap: 'skip', catchUp: 'last' },
      ...{ decidedUntil: 1, nextAt: 2 },
    };
    await on.store.editSchedule(saga, () => ({ schedule }));
    on.prepared();
    const [start] = newSagas({ name: saga, leased: false }, 1) as [NewSaga];
    const last = { id: start.id, at: 2, triggered: false };
    const edited = await on.store.editSchedule(saga, () => ({ schedule: { ...schedule, last }, start }));
    expect(edited).toMatchObject({ start: { created: true } });
  },
  'load of a saga that waits for a limit': async (on) => {
    const [first, second] = newSagas({ name: `limited-${randomUUID()}`, leased: false }, 2) as [
      NewSaga,
      NewSaga,
    ];
    await on.store.start([first, second], LEASE);
    const sagas = [{ name: first.name, version: 1, maxLeases: 1 }];
    const [taken] = (await on.store.claim({ lease: LEASE, sagas, limit: 1 })).sagas;
    on.prepared();
    const waiting = taken!.id === first.id ? second : first;
    expect(await on.store.load(waiting)).toMatchObject({ slotsTaken: 1 });
  },
  'a look at what has not ended, in pages': async (on) => {
    await on.store.start(newSagas({ leased: false }), LEASE);
    on.prepared();
    const order = { name: 'order', version: 1 };
    for (let after: string | undefined, more = true; more; more = after !== undefined)
      after = (await on.graphs.unfinished(order, 100, after)).next;
  },
  'a turn at moving instances': async (on) => {
    const saga = { name: 'order', version: 1 };
    await on.graphs.takeTurn(saga, 1_000, true);
    await on.graphs.endTurn(saga, 'rest', 0);
  },
  'keeping an older graph': async (on) => {
    const name = `drifted-${randomUUID()}`;
    await on.store.start(newSagas({ name, leased: false }), LEASE);
    on.prepared();
    await on.graphs.exclusively((writer) => writer.keep({ name, version: 1 }, 1));
  },
  'reserve of a rate limit': (on) =>
    on.store.reserve({ saga: 'order', step: 'charge', count: 10, per: 1_000 }, 20),
  'find of those that need an operator': (on) => on.store.find({ status: ['stuck'], limit: 50 }),
  'find by correlation id': async (on) => {
    await on.store.find({ name: 'order', correlationId: 'old-7', limit: 50 });
    await on.store.find({ correlationId: randomUUID(), limit: 50 });
  },
};
