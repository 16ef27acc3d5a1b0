import { stateOf } from '../../../../../test/fixtures/state-of.js';
import { sequenceOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import type { Checkpoint } from '../ports/checkpoint.js';
import type { NewSaga, StoredSaga } from '../ports/stored-saga.js';
import { type AfterFailover, decidePutBack, startAgain } from './decide-put-back.js';
import { MadeCheckpoint } from './made-checkpoint.js';
import { KnownSaga, RecentSagas } from './recent-sagas.js';

const LEASE = { worker: 'me', duration: 30_000 };
const NOW = 100_000;
const GRAPH = sequenceOf(
  ...['a', 'b', 's1', 's2', 's3', 's4', 's5'].map((name) => stepOf(name)),
  stepOf('booked', { transactional: true }),
);

function rowOf(given: Partial<StoredSaga> = {}): StoredSaga {
  return {
    ...{ id: 'a', name: 'order', version: 1, priority: 0, state: stateOf('running', ''), epoch: 2 },
    ...{ checkpoints: 0, takeovers: 0, losses: 0, createdAt: 1_000, updatedAt: 1_000 },
    ...{ stepTimes: new Map(), lockedBy: 'me', leasedAt: 2_000 },
    ...given,
  };
}

function madeOf(number: number, given: Partial<Checkpoint> = {}): MadeCheckpoint {
  return Object.assign(new MadeCheckpoint(), {
    ...{ id: 'a', epoch: 2, number, state: stateOf('running', `s${number}=completed`), changed: [] },
    ...{ step: 'next', advances: true, cancelSeen: false, pauseSeen: false, size: 0 },
    ...given,
  });
}

const message = (id: string) => ({ id, topic: 't', key: 'k', type: 'x', payload: '1', headers: {} });

/** A saga that this process claimed under epoch 2, and these checkpoints of it. */
function knownWith(...made: (MadeCheckpoint | { readonly transactional: MadeCheckpoint })[]): KnownSaga {
  const recent = new RecentSagas({ window: 1e9, bytes: 1e9 }, { monotonic: () => 0 } as ConstructorParameters<
    typeof RecentSagas
  >[1]);
  recent.claimed(rowOf({ updatedAt: 1_500 }));
  for (const one of made)
    if ('transactional' in one) recent.stored(one.transactional, true);
    else recent.stored(one, false);
  return recent.all()[0]!;
}

const decide = (known: KnownSaga, row: StoredSaga, given: Partial<AfterFailover> = {}) =>
  decidePutBack({
    ...{ known, row, isNew: false, runsUnder: undefined, lease: LEASE, graph: GRAPH, now: NOW },
    ...given,
  });

describe('what is put back after a failover', () => {
  test('is the newest state, with all of its steps, and due at once', () => {
    const known = knownWith(madeOf(1), madeOf(2, { state: stateOf('running', 'a=completed b=completed') }));
    expect(decide(known, rowOf())).toMatchObject({
      checkpoint: { id: 'a', epoch: 2, number: 2, changed: ['a', 'b'], release: { dueAt: NOW } },
      lease: undefined,
      createdAt: undefined,
      storedAt: 1_500,
    });
  });

  test('has the messages and sub-sagas of every checkpoint that was lost, and of no other', () => {
    const [first, second, third] = [1, 2, 3].map((n) => madeOf(n, { messages: [message(`m${n}`)] }));
    const child = { ...({ id: 'c' } as NewSaga), parent: { id: 'a', step: 's' } };
    const known = knownWith(first!, second!, madeOf(4, { starts: [child] }), third!, madeOf(5));
    expect(decide(known, rowOf({ checkpoints: 1 }))).toMatchObject({
      checkpoint: { number: 5, messages: [message('m2'), message('m3')], starts: [child] },
    });
  });

  test('has the approvals that wait, whatever the database has of them', () => {
    const state = stateOf('running', 'a=completed');
    const steps = new Map(state.steps).set('b', {
      ...state.steps.get('a')!,
      status: 'waiting',
      wait: { signal: 'approval:b', since: 70 },
    });
    expect(decide(knownWith(madeOf(1, { state: { ...state, steps } })), rowOf())).toMatchObject({
      checkpoint: { openApprovals: [{ step: 'b', since: 70 }] },
    });
  });

  test('has the tags that were set last, and none if only what was not lost set some', () => {
    const known = knownWith(madeOf(1, { tags: { n: '1' } }), madeOf(2, { tags: { n: '2' } }), madeOf(3));
    expect(decide(known, rowOf())).toMatchObject({ checkpoint: { number: 3, tags: { n: '2' } } });
    const later = decide(known, rowOf({ checkpoints: 2 })) as { checkpoint: Checkpoint };
    expect(later.checkpoint).not.toHaveProperty('tags');
  });

  test('is nothing if the database has it', () => {
    expect(decide(knownWith(madeOf(2)), rowOf({ checkpoints: 2 }))).toBe('current');
    expect(decide(knownWith(), rowOf())).toBe('current');
  });

  test('ends before a step whose transaction was lost, and the run that is ahead of it is fenced off', () => {
    const booked = (n: number) => madeOf(n, { state: stateOf('running', 'a=completed booked=completed') });
    const known = knownWith(madeOf(1), { transactional: booked(2) }, booked(3));
    expect(decide(known, rowOf(), { runsUnder: 2 })).toMatchObject({
      checkpoint: { number: 1, epoch: 3, release: { dueAt: NOW } },
      lease: undefined,
    });
    expect(decide(known, rowOf({ checkpoints: 1 }), { runsUnder: 2 })).toBe('transaction');
    const stored = rowOf({ checkpoints: 2, state: booked(2).state });
    expect(decide(known, stored)).toMatchObject({ checkpoint: { number: 3 } });
  });

  test.each(['completed', 'compensating', 'compensated'])(
    'is nothing if another worker’s transaction was lost, and is %s in what this worker knows',
    (status) => {
      const state = stateOf('running', `a=completed booked=${status}`);
      expect(decide(knownWith(madeOf(1, { state })), rowOf())).toBe('transaction');
    },
  );

  test('is nothing without the graph, which says what is transactional', () => {
    expect(decide(knownWith(madeOf(1)), rowOf(), { graph: undefined })).toBe('transaction');
  });

  test('keeps the lease of the run that continues here', () => {
    expect(decide(knownWith(madeOf(1)), rowOf(), { runsUnder: 2 })).toMatchObject({
      ...{ lease: LEASE, checkpoint: { epoch: 2 } },
    });
    const released = knownWith(madeOf(1, { release: {} }));
    expect(decide(released, rowOf(), { runsUnder: 2 })).toMatchObject({ checkpoint: { epoch: 3 } });
  });

  test('keeps no lease without the semantic lock, nor past a limit that others may have used up', () => {
    const known = knownWith(madeOf(1));
    const waiting = decide(known, rowOf({ lock: { key: 'k', held: false } }), { runsUnder: 2 });
    expect(waiting).toMatchObject({ lease: undefined, checkpoint: { epoch: 3 } });
    expect((waiting as { checkpoint: Checkpoint }).checkpoint.release).toBeUndefined();
    const limited = { runsUnder: 2, graph: { ...GRAPH, limit: { count: 1 } } };
    const row = rowOf({ epoch: 1, lockedBy: undefined, leasedAt: undefined });
    expect(decide(known, row, limited)).toMatchObject({ lease: undefined });
    expect(decide(known, rowOf(), limited)).toMatchObject({ lease: LEASE });
  });

  test('has the time of its start, if that was lost, too', () => {
    const row = rowOf({ epoch: 0, lockedBy: undefined, leasedAt: undefined, updatedAt: NOW });
    expect(decide(knownWith(madeOf(1)), row, { isNew: true })).toMatchObject({
      createdAt: 1_000,
      storedAt: 1_500,
    });
  });
});

describe('what others have gone on with since', () => {
  test.each([
    ['a claim of another worker', { epoch: 3, lockedBy: 'other' }],
    ['a claim of another worker under the same epoch', { lockedBy: 'other' }],
    ['an operator’s change', { epoch: 3, lockedBy: undefined }],
    ['as many claims as were lost', { epoch: 1, lockedBy: 'other', leasedAt: 50_000 }],
    ['a checkpoint after a claim', { epoch: 1, lockedBy: undefined, updatedAt: 50_000 }],
  ])('is not overwritten: %s', (_, row) => {
    expect(decide(knownWith(madeOf(1)), rowOf(row))).toBe('elsewhere');
  });

  test('is not assumed of a saga whose claim was lost, and nothing else', () => {
    const row = rowOf({ epoch: 1, lockedBy: 'before', leasedAt: 1_200, updatedAt: 1_500 });
    expect(decide(knownWith(madeOf(1)), row)).toMatchObject({ checkpoint: { number: 1 } });
  });

  test('includes a signal whose number was given out twice, unless this process has seen it', () => {
    const state = { ...stateOf('running', 'a=completed'), lastTakenSignals: { paid: 1 } };
    const known = knownWith(madeOf(1, { state }));
    const signals = [{ name: 'paid', messageId: 'p', number: 1, at: 0 }];
    expect(decide(known, rowOf({ signals }))).toBe('elsewhere');
    known.claimed = rowOf({ signals });
    expect(decide(known, rowOf({ signals }))).toMatchObject({ checkpoint: { number: 1 } });
  });
});

describe('a start that was lost', () => {
  const saga = {
    ...{ id: 'a', fresh: true, name: 'order', version: 1, priority: 0, step: 'first', leased: true },
    ...{ delay: 10_000, timeout: 60_000, sla: 20_000, tags: { of: 'me' }, correlationId: 'c' },
  };
  const known = () => Object.assign(new KnownSaga('a', 0, 0), { start: { saga, at: 50_000 } });

  test('is stored again with its id, and the times that it had', () => {
    const again = { fresh: false, delay: undefined, startAt: 60_000, timeout: 20_000, sla: 0 };
    expect(startAgain(known(), true, NOW, undefined)).toEqual({ ...saga, ...again, leased: true });
  });

  test('is taken up by no worker before its state is stored', () => {
    const begun = Object.assign(known(), { last: madeOf(1) });
    const again = startAgain(begun, true, NOW, undefined)!;
    expect(again).toMatchObject({ leased: false, step: 'next' });
    expect(again.startAt).toBeGreaterThan(NOW);
  });

  test('keeps a start time that has not come', () => {
    const later = { ...saga, delay: 100_000 };
    const waiting = Object.assign(known(), { start: { saga: later, at: 50_000 } });
    expect(startAgain(waiting, false, NOW, undefined)).toMatchObject({
      startAt: 150_000,
      timeout: 60_000,
      sla: 20_000,
    });
    waiting.last = madeOf(1);
    expect(startAgain(waiting, false, NOW, undefined)).toMatchObject({ startAt: 150_000 });
    const state = { ...stateOf('running', ''), startsAt: 150_000, deadline: 210_000 };
    const claimed = Object.assign(new KnownSaga('a', 0, 0), { claimed: rowOf({ state }) });
    claimed.last = madeOf(1);
    expect(startAgain(claimed, false, NOW, undefined)).toMatchObject({ startAt: 150_000, timeout: 60_000 });
  });

  test('is stored by a worker of the saga once that has stored a checkpoint, and not before', () => {
    const row = { tags: { of: 'me' }, slaAt: NOW + 5, lock: { key: 'k', held: true } };
    const claimed = Object.assign(new KnownSaga('a', 0, 0), { claimed: rowOf(row) });
    expect(startAgain(claimed, false, NOW, undefined)).toBeUndefined();
    claimed.last = madeOf(1);
    expect(startAgain(claimed, false, NOW, undefined)).toMatchObject({
      ...{ id: 'a', name: 'order', fresh: false, leased: false, lockKey: 'k', sla: 5, tags: row.tags },
    });
  });

  test('by a worker of the saga has the key of its limit', () => {
    const claimed = Object.assign(new KnownSaga('a', 0, 0), { claimed: rowOf({ input: '{"tenant":"t"}' }) });
    claimed.last = madeOf(1);
    const keyOf = (ctx: { readonly input: unknown }) => (ctx.input as { readonly tenant: string }).tenant;
    const graph = { ...sequenceOf(stepOf('first')), limit: { count: 1, key: keyOf } };
    expect(startAgain(claimed, false, NOW, graph)?.limitKey).toBe('t');
    const throws = () => {
      throw new Error('no key');
    };
    expect(
      startAgain(claimed, false, NOW, { ...graph, limit: { count: 1, key: throws } })?.limitKey,
    ).toBeUndefined();
  });
});
