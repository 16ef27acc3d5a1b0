import { randomUUID } from 'node:crypto';
import type { Edit, StoreFilter } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { StoreTaskFilter } from '../../libs/saga/src/engine/ports/stored-task.js';
import type { NewSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { TypeOrmDatabase } from '../../libs/saga/src/store/postgres/typeorm/typeorm-database.js';
import { type Called, running, started } from './called.js';
import { FAMILY_CALLS } from './family-calls.js';
import { LET_GO_OF_LANES } from './huge-tables.js';
import { checkpointOf, LEASE, newSagas, signal } from './store-calls.js';

const HOUR = 3_600_000;
const AGE = 300 * 24 * HOUR;
/** The page size of `inSmallPages`: a saga with a few LARGE values is read in parts. */
export const SMALL_PAGE = 64 * 1024;
/** With this a saga is not small any more: see SMALL_SAGA. */
const LARGE = JSON.stringify('x'.repeat(40_000));

const operation = (): Edit['operation'] => ({
  ...{ id: randomUUID(), action: 'retry', from: 'running', revision: 0, proposed: false },
});

const edited = async (on: Called, edit: Edit, given?: Partial<NewSaga>) => {
  const saga = await started(on, given);
  on.prepared();
  await on.store.edit({ id: saga.id }, () => edit);
};

/** With these conditions, and from somewhere on. */
const found = async ({ store }: Called, filter: Omit<StoreFilter, 'limit'>) => {
  const [last] = (await store.find({ ...filter, limit: 20 })).slice(-1);
  await store.find({ ...filter, before: last?.id ?? randomUUID(), limit: 20 });
};

const tasks = async ({ store }: Called, filter: Omit<StoreTaskFilter, 'limit'>) => {
  const [last] = (await store.tasks({ ...filter, limit: 20 })).slice(-1);
  await store.tasks({ ...filter, after: last, limit: 20 });
};

/**
 * What is called less often, beside STORE_CALLS and MESSAGING_CALLS: by operators, by timers, by other sagas.
 */
export const SCALED_CALLS: Record<string, (on: Called) => Promise<unknown>> = {
  'start within a transaction': (on) =>
    on.application.transaction((manager) => on.store.startWithin(manager, newSagas({}, 1)[0]!, LEASE)),
  'claim of many sagas with a limit for each key': async (on) => {
    const name = `keyed-${randomUUID()}`;
    // More than are looked at for their keys: the keys are read in turn.
    const sagas = newSagas({ name, leased: false }, 600);
    await on.store.start(
      sagas.map((saga, n) => ({ ...saga, limitKey: `k${n % 3}` })),
      LEASE,
    );
    on.prepared();
    const claimed = [{ name, version: 1, maxLeases: 10, keyed: true }];
    expect((await on.store.claim({ lease: LEASE, sagas: claimed, limit: 50 })).sagas).toHaveLength(30);
  },
  'times of a rate limit that are given out again': async (on) => {
    const limit = { saga: `rated-${randomUUID()}`, step: 'charge', count: 1, per: 60_000 };
    const sagas = newSagas({ name: limit.saga }, 5);
    await on.store.start(sagas, LEASE);
    const times = async (saga: NewSaga) =>
      (await on.store.reserve({ ...limit, holder: saga.id }, 1)).times[0]!;
    const given: number[] = [];
    for (const saga of sagas.slice(0, 4)) given.push(await times(saga));
    const { state, ...checkpoint } = checkpointOf(sagas[2]!);
    await on.store.checkpoint([{ ...checkpoint, state: { ...state, status: 'completed' }, release: {} }]);
    on.prepared();
    expect(await times(sagas[4]!)).toBeCloseTo(given[2]!, 1);
  },
  'what was due before the clock was set back': (on) => on.store.catchUp([{ name: 'order', version: 1 }]),
  'slots of steps that are left': async (on) => {
    const saga = `left-${randomUUID()}`;
    const sweep = async () => {
      await on.application.query(
        `UPDATE saga.step_limit SET checked_at = now() - interval '1 minute' WHERE saga = $1`,
        [saga],
      );
      await on.store.stepSlots.sweep([{ name: saga, version: 1, steps: new Map([['charge', 1]]) }]);
    };
    const limit = { saga, step: 'charge', key: 'a', count: 1 };
    const [first, second] = newSagas({ name: saga }, 2) as [NewSaga, NewSaga];
    await on.store.start([first, second], LEASE);
    for (const { id } of [first, second])
      await on.store.stepSlots.take(limit, { id, epoch: 1, turn: 1 }, ['charge']);
    on.prepared();
    await sweep();
    await on.store.stepSlots.free(limit, { id: second.id, epoch: 1, turn: 1 }, ['charge']);
    const { state, ...checkpoint } = checkpointOf(first);
    await on.store.checkpoint([{ ...checkpoint, state: { ...state, status: 'completed' }, release: {} }]);
    await sweep();
  },
  'put back after a failover': async (on) => {
    const saga = await started(on, { leased: false });
    on.prepared();
    await on.store.revisions([saga.id]);
    const checkpoint = { ...checkpointOf(saga, ['reserve']), epoch: 2, changed: ['reserve'] };
    const putBack = { checkpoint, lease: LEASE, storedAt: Date.now() };
    await on.store.edit({ id: saga.id }, () => ({ putBack, operation: operation() }));
    expect(await on.store.revisions([saga.id])).toMatchObject([{ epoch: 2, checkpoints: checkpoint.number }]);
  },
  'signal within a transaction': async (on) => {
    const { id } = await started(on);
    await on.application.transaction((manager) =>
      on.store.signalWithin(manager, { ...signal(), target: { id } }),
    );
  },
  'start of one that is there': (on) => on.store.start(newSagas({ correlationId: 'old-1' }, 1), LEASE),
  // A row that cannot exist yet is inserted without a lookup.
  'start and checkpoint of what is new': async ({ store }) => {
    for (const count of [1, 250]) {
      const sagas = newSagas({ correlationId: undefined }, count);
      await store.start(sagas, LEASE);
      await store.checkpoint(sagas.map((saga) => ({ ...checkpointOf(saga, ['reserve']), fresh: true })));
    }
  },
  'relaxed starts and checkpoints': async ({ store }) => {
    for (const count of [1, 250]) {
      const sagas = newSagas({}, count);
      await store.start(sagas, LEASE, 'relaxed');
      const changed = count === 1 ? ['reserve'] : undefined;
      await store.checkpoint(
        sagas.map((saga) => ({ ...checkpointOf(saga, changed), after: 0 })),
        'relaxed',
      );
    }
  },
  'a transactional step': async (on) => {
    const saga = await started(on);
    await on.store.transact(async () => checkpointOf(saga, ['reserve']));
  },
  // The lock is handed on once the transaction is through: see lock-queue.sql.
  'a transactional step at another level that ends a saga with a lock': async (on) => {
    const name = `locked-${randomUUID()}`;
    const saga = await started(on, { name, lockKey: 'k' });
    const { state, ...checkpoint } = checkpointOf(saga, ['reserve']);
    await on.store.transact(async ({ manager }) => {
      await manager!.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      const lock = { name, key: 'k' };
      return { ...checkpoint, epoch: 0, lock, state: { ...state, status: 'completed' }, release: {} };
    });
    const ended = await on.store.load(saga);
    expect(ended).toMatchObject({ state: { status: 'completed' } });
    expect(ended!.lock).toBeUndefined();
  },
  'a claim of small sagas behind large ones that there is no room for': async ({ store }) => {
    const name = `sized-${randomUUID()}`;
    await store.start(newSagas({ name, leased: false, input: LARGE }, 20), LEASE);
    const small = newSagas({ name, leased: false }, 5);
    await store.start(small, LEASE);
    const { sagas, heavy } = await store.claim({
      ...{ lease: LEASE, sagas: [{ name, version: 1 }], limit: 10 },
      bytes: { room: 0, alone: false },
    });
    expect(sagas.map(({ id }) => id).sort()).toEqual(small.map(({ id }) => id).sort());
    expect(heavy).toBe(true);
  },
  'load of a saga that is larger than a page': async (on) => {
    const saga = await started(on);
    await on.store.signal([{ ...signal(), target: { id: saga.id } }]);
    const { state, ...checkpoint } = checkpointOf(saga, ['reserve', 'charge', 'ship']);
    const steps = new Map([...state.steps].map(([step, of]) => [step, { ...of, result: LARGE }]));
    await on.store.checkpoint([{ ...checkpoint, state: { ...state, steps } }]);
    const read = await on.inSmallPages.load(saga);
    expect([...read!.state.steps.values()].map(({ result }) => result)).toEqual([LARGE, LARGE, LARGE]);
    expect(read!.signals).toHaveLength(1);
  },
  'the steps of a saga, as people read them': async (on) => {
    const saga = await started(on);
    await on.store.checkpoint([checkpointOf(saga, ['reserve', 'charge'])]);
    const steps: object[] = await on.application.query('SELECT name FROM saga.steps_of($1)', [saga.id]);
    expect(steps).toHaveLength(2);
  },
  'the steps of some sagas, as the entity SagaStep reads them': async (on) => {
    const [one, other] = [await started(on), await started(on)];
    await on.store.checkpoint([one, other].map((saga) => checkpointOf(saga, ['reserve', 'charge'])));
    const read =
      'SELECT s.name FROM saga.instance i LEFT JOIN saga.step_state s ON s.saga_id = i.id WHERE i.id = ANY ($1)';
    const steps: object[] = await on.application.query(read, [[one.id, other.id]]);
    expect(steps).toHaveLength(4);
  },
  'a look for those that are not there any more': async (on) => {
    const gone = randomUUID();
    const { id } = await started(on);
    expect(await on.store.missing([id, gone])).toEqual([gone]);
  },
  'giving back': async (on) => {
    const saga = await started(on);
    await on.store.giveBack([{ id: saga.id, epoch: 1 }], LEASE, 0);
  },
  ...FAMILY_CALLS,
  'settled ones that are waited for': async (on) => {
    const saga = await started(on);
    const { state, ...checkpoint } = checkpointOf(saga, ['reserve']);
    await on.store.checkpoint([{ ...checkpoint, state: { ...state, status: 'completed' }, release: {} }]);
    await on.store.ended([saga.id]);
    await on.store.watch([saga.id]);
  },
  cancel: (on) => edited(on, { requestCancel: {}, operation: operation() }),
  pause: (on) => edited(on, { requestPause: true, operation: operation() }),
  proposal: (on) => edited(on, { proposal: true, operation: operation() }),
  approval: (on) => edited(on, { signal: signal(), operation: operation() }),
  retry: async (on) => {
    const saga = await started(on);
    await on.store.edit(saga, () => ({
      ...{ state: running(saga), step: '', due: true, input: '1', version: 2, operation: operation() },
    }));
  },
  history: (on) => on.store.history(randomUUID(), 100),
  'those that are overdue': (on) => on.store.markOverdue(['order', 'refund'], 100),
  stats: (on) => on.store.stats(),
  'find the newest': (on) => found(on, {}),
  'find by name': (on) => found(on, { name: 'order' }),
  'find by name and status': (on) => found(on, { name: 'order', status: ['compensated'] }),
  'find those of a name that need an operator': (on) =>
    found(on, { name: 'order', status: ['stuck', 'paused'] }),
  'find by tags': (on) => found(on, { tags: { customer: 'c5' } }),
  'find by name and tags': (on) => found(on, { name: 'refund', tags: { customer: 'c5' } }),
  'find by time': (on) =>
    found(on, { createdAfter: new Date(Date.now() - 30 * HOUR), createdBefore: new Date(Date.now() - HOUR) }),
  'find those of a name that need an operator, by their progress': (on) =>
    found(on, {
      ...{ name: 'order', status: ['stuck', 'paused'], step: 'charge', waitingFor: 'paid', overdue: true },
      ...{ errorCode: 'DOWN', finishedAfter: new Date(Date.now() - HOUR) },
    }),
  'tasks, oldest first': (on) => tasks(on, {}),
  'tasks of a saga and a step': (on) => tasks(on, { name: 'order', step: 'agree' }),
  'tasks of a saga': (on) => tasks(on, { name: 'order' }),
  'tasks of a step': (on) => tasks(on, { step: 'agree' }),
  'the end of a task': (on) =>
    edited(on, {
      signal: { ...signal(), name: 'approval:agree' },
      operation: operation(),
    }),
  'find tasks by tags': (on) => tasks(on, { tags: { customer: 'c5' } }),
  'rates of sagas': (on) => on.rates.sagas([Date.now() - 48 * HOUR, Date.now() - 24 * HOUR], 24 * HOUR),
  'rates of a saga': (on) => on.rates.sagas([Date.now() - 48 * HOUR], 24 * HOUR, 'order'),
  'rates of steps': (on) => on.rates.steps([Date.now() - 48 * HOUR], 24 * HOUR, 'order'),
  'stored graphs': async (on) => {
    await on.graphs.newest();
    await on.graphs.stored([{ name: 'order', version: 1 }, { name: 'refund' }]);
  },
  'a new graph over what is running': (on) =>
    on.graphs.exclusively(async (graphs) => {
      await graphs.put({ name: 'order', version: 1, revision: 2, graph: {} as never });
      await graphs.accept({ name: 'order', version: 1 });
      await graphs.isAccepted({ name: 'order', version: 1 });
      await graphs.eachUnfinished({ name: 'order', version: 1 }, () => undefined);
    }),
  'the same, read only': (on) =>
    on.graphs.reading((graphs) => graphs.eachUnfinished({ name: 'order', version: 1 }, () => undefined)),
  'counting of what is over its retention': (on) =>
    on.cleanup.batch({ name: 'order', age: AGE, most: 300, dryRun: true, alone: true }),
  'deletion of what is over its retention': async (on) => {
    await on.cleanup.names();
    const batch = { name: 'order', age: AGE, most: 300, dryRun: false, alone: true };
    const { next } = (await on.cleanup.batch(batch))!;
    expect(next).toBeDefined();
    await on.cleanup.batch({ ...batch, after: next });
  },
  'sending of what had failed': async ({ outbox, client }) => {
    await client.query(LET_GO_OF_LANES);
    const { lanes, messages } = await outbox.take('relay', 60_000, { messages: 64_000, lanes: 64 });
    expect(await outbox.lanesOf('relay')).toHaveLength(lanes.length);
    const sent = messages.filter(({ attempts }) => attempts > 0).map(({ id }) => id);
    expect(sent).not.toEqual([]);
    await outbox.settle(lanes, {
      sent,
      failed: [],
      behind: [],
      unfinished: new Set(lanes.map(({ lane }) => lane)),
    });
  },
  'publishing by the application': (on) =>
    on.application.transaction((manager) =>
      on.outbox.publish(new TypeOrmDatabase(on.application).join(manager), [
        { id: randomUUID(), topic: 'a', key: 'b', type: 'c', payload: '1', headers: {} },
      ]),
    ),
  'publishing of a dead letter': (on) =>
    on.outbox.publishAlone({ id: randomUUID(), topic: 'a', key: 'b', type: 'c', payload: '1', headers: {} }),
  'handling of a message': (on) =>
    on.application.transaction((manager) =>
      on.inbox.isNew(new TypeOrmDatabase(on.application).join(manager), 'default', randomUUID()),
    ),
};

/** Where sagas are in partitions: how those are made, and dropped. */
export const PARTITION_CALLS: Record<string, (on: Called) => Promise<unknown>> = {
  'partitions to come': (on) => on.partitions.makeAhead(2),
  'a partition that is over its retention': async ({ partitions }) => {
    const [oldest] = await partitions.list((await partitions.read())!);
    const moved = await partitions.drop(
      oldest!,
      new Map(['order', 'refund', 'child'].map((name) => [name, 1])),
    );
    expect(moved).toBeGreaterThan(0);
    expect(await partitions.leaving()).toEqual([oldest!.name]);
    await partitions.forget(oldest!.name);
  },
};
