import { SAGA } from '../../../../../test/fixtures/run-of.js';
import { PENDING } from '../../machine/saga-state.js';
import { describeWait, waitingFor, type WaitingFor } from './waiting-for.js';

const PERMIT = 1_795_625_561_132.691;

test.each([
  ['as it was granted', PERMIT],
  ['as the database rounds it', PERMIT - 0.000_24],
])('a step waits for its rate limit until the time of its permit, %s', (_, retryAt) => {
  const step = { ...PENDING, status: 'waiting', retryAt, permit: PERMIT, limitKey: 'acme' } as const;
  const saga = { ...SAGA, state: { ...SAGA.state, steps: new Map([['pay', step]]) }, dueAt: retryAt };
  expect(waitingFor(saga, { graph: undefined, now: 1 })).toEqual({
    ...{ kind: 'rate-limit', step: 'pay', key: 'acme' },
    until: new Date(PERMIT),
  });
});

test('a step that failed after its permit waits for its next attempt', () => {
  const step = {
    ...PENDING,
    status: 'waiting',
    attempts: 1,
    permit: PERMIT,
    retryAt: PERMIT + 1_000,
  } as const;
  const saga = { ...SAGA, state: { ...SAGA.state, steps: new Map([['pay', step]]) }, dueAt: step.retryAt };
  expect(waitingFor(saga, { graph: undefined, now: 1 })).toMatchObject({ kind: 'retry', step: 'pay' });
});

test('a saga waits for its start time before it waits for its lock, or for a worker', () => {
  const state = { ...SAGA.state, startsAt: 5_000 };
  const lock = { key: 'k', held: false, holder: 'other' };
  const saga = { ...SAGA, state, lock, dueAt: 1_000 };
  const around = { graph: undefined, now: 4_999 };
  expect(waitingFor(saga, around)).toEqual({ kind: 'delay', until: new Date(5_000) });
  expect(waitingFor(saga, { ...around, now: 5_000 })).toEqual({ kind: 'lock', key: 'k', holder: 'other' });
});

const at = new Date('2026-11-22T10:00:00.000Z');
const id = '019aa7c4-8f3e-7a52-b1c3-5d0a4b7e9f10';
const handler = { step: 'ship', handler: 'parcels.ship', version: 1, id };

/** Each kind once: the compiler refuses a kind that is missing here. */
const OF_KIND: { readonly [K in WaitingFor['kind']]: readonly [WaitingFor & { kind: K }, string] } = {
  retry: [{ kind: 'retry', step: 'ship', at }, "another attempt at step 'ship', at 2026-11-22T10:00:00.000Z"],
  delay: [
    { kind: 'delay', step: 'remind', until: at },
    "the delay of step 'remind', until 2026-11-22T10:00:00.000Z",
  ],
  'rate-limit': [
    { kind: 'rate-limit', step: 'call', key: 'acme\n', until: at },
    "the rate limit of step 'call' for 'acme', until 2026-11-22T10:00:00.000Z",
  ],
  worker: [
    { kind: 'worker', since: at },
    'a worker, since 2026-11-22T10:00:00.000Z: the workers are busy or stopped, or none has this version',
  ],
  version: [
    { kind: 'version', saga: 'order', version: 2, since: at },
    'a worker that has order@2, since 2026-11-22T10:00:00.000Z',
  ],
  lock: [{ kind: 'lock', key: 'a', holder: id }, `the lock 'a', which saga ${id} holds`],
  'sub-saga': [{ kind: 'sub-saga', step: 'pay', id }, `saga ${id}, which step 'pay' started`],
  'remote-step': [
    { kind: 'remote-step', ...handler },
    `handler 'parcels.ship' of step 'ship', which is running (saga ${id})`,
  ],
  handler: [
    { kind: 'handler', ...handler, since: at, deployed: false },
    "a worker with handler 'parcels.ship' for step 'ship', since 2026-11-22T10:00:00.000Z: no process that has it was ever started",
  ],
  signal: [
    { kind: 'signal', step: 'pay', signal: 'paid', until: at },
    "the signal 'paid' for step 'pay', until 2026-11-22T10:00:00.000Z",
  ],
  approval: [{ kind: 'approval', step: 'decide' }, "an operator to approve or reject step 'decide'"],
  paused: [
    { kind: 'paused', by: 'ann', reason: 'a\nstrike' },
    'an operator to resume it: paused by ann: a strike',
  ],
  'paused-step': [
    { kind: 'paused-step', step: 'charge', by: 'ann', reason: 'payments are down', since: at },
    "an operator to resume step 'charge', since 2026-11-22T10:00:00.000Z: paused by ann: payments are down",
  ],
  limit: [
    { kind: 'limit', limit: 5, key: 'acme', since: at },
    "its turn for 'acme', since 2026-11-22T10:00:00.000Z: 5 sagas of its key are running, which is its limit",
  ],
  person: [{ kind: 'person', steps: ['ship', 'pay'] }, "an operator: steps 'ship', 'pay' need attention"],
};

test.each(Object.values(OF_KIND).map(([wait, text]) => [wait.kind, wait, text] as const))(
  'describes a wait of kind %s',
  (_, wait, text) => {
    expect(describeWait(wait)).toBe(text);
  },
);

test('describes a wait for a slot of a step', () => {
  const slot = { kind: 'limit', step: 'charge', since: at } as const;
  expect(describeWait({ ...slot, limit: 5, key: 'acme' })).toBe(
    "a slot of step 'charge' for 'acme', since 2026-11-22T10:00:00.000Z: 5 attempts of this key are in progress, which is its limit",
  );
  expect(describeWait({ ...slot, limit: 5 })).toMatch(
    /^a slot of step 'charge', since .*: 5 attempts of it are/,
  );
  expect(describeWait(slot)).toBe("a slot of step 'charge', since 2026-11-22T10:00:00.000Z");
});

test('leaves out unknown details', () => {
  expect(describeWait({ kind: 'delay', until: at })).toMatch(/^its start time, until/);
  expect(describeWait({ kind: 'limit', limit: 5, since: at })).toMatch(/: 5 sagas of its name are running/);
  expect(describeWait({ kind: 'paused' })).toBe('an operator to resume it: paused');
  expect(describeWait({ kind: 'person', steps: [] })).toBe('an operator');
  expect(describeWait({ kind: 'handler', ...handler, since: at, deployed: true })).toMatch(
    /stopped or busy$/,
  );
});

test('adds the distance of each time if it receives the current time', () => {
  const now = new Date(at.getTime() - 250_000);
  expect(describeWait({ kind: 'retry', step: 'ship', at }, now)).toBe(
    "another attempt at step 'ship', at 2026-11-22T10:00:00.000Z (in 4m 10s)",
  );
});

test('names the kind of a wait that only a later version knows', () => {
  expect(describeWait({ kind: 'weather' } as never)).toBe('weather');
});
