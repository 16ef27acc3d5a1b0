import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Saga, SagaConfigurationError, Step } from '../../libs/saga/src/index.js';
import { oddities } from '../fixtures/hostile-errors.js';
import { specimens } from '../fixtures/hostile-values.js';
import { withDefaults } from '../../libs/saga/src/nest/saga.options.js';
import { type TestApp, TestApps } from '../support/test-app.js';
import { casesOf, IN_TIME, Neighbour, Neighbours } from './neighbour-sagas.js';

/** What callers without a compiler may give for anything. */
interface Given {
  readonly name: string;
  readonly value: unknown;
}

const fail = (): never => {
  throw new Error('no entry');
};
const simple = [
  null,
  true,
  0,
  -1,
  1.5,
  NaN,
  2 ** 53,
  '',
  'x',
  '1h',
  [],
  {},
  [[]],
  1n,
  Symbol('s'),
  fail,
  new Date(NaN),
  new Date(),
];
const given: Given[] = [
  ...simple.map((value) => ({ name: fc.stringify(value), value })),
  { name: 'a UUID in an array', value: [randomUUID()] },
  { name: 'a UUID in an object', value: { toString: () => randomUUID() } },
  { name: 'a Date that says otherwise', value: Object.assign(new Date(0), { getTime: fail, valueOf: fail }) },
  { name: 'a date of another kind', value: { getTime: () => 0, toISOString: () => '1970' } },
  { name: 'a Map', value: new Map([['a', 'b']]) },
  ...oddities().map((one) => ({ name: one[fc.toStringMethod](), value: one.thrown })),
  ...casesOf(specimens, 40).map((one) => ({ name: fc.stringify(one), value: one.value })),
];

@Saga({ name: 'order' })
class Order {
  @Step() act() {}
}
const LATER = { delay: '1h' } as const;

type Call = (app: Pick<TestApp, 'sagas' | 'operations'>, value: never, id: string) => Promise<unknown>;
const TARGET_CALLS: Record<string, Call> = {
  get: ({ sagas }, value) => sagas.get(value),
  wait: ({ sagas }, value) => sagas.wait(value, IN_TIME),
  cancel: ({ sagas }, value) => sagas.cancel(value),
  abort: ({ operations }, value) => operations.abort(value),
  undo: ({ operations }, value) => operations.undo(value),
  retry: ({ operations }, value) => operations.retry(value),
  resolve: ({ operations }, value) => operations.resolve(value, 'act'),
  previewRollback: ({ operations }, value) => operations.previewRollback(value),
  'get by correlation id': ({ sagas }, value) => sagas.get({ saga: Order, correlationId: value }),
  'get by saga': ({ sagas }, value) => sagas.get({ saga: value, correlationId: 'x' }),
};
const START_CALLS: Record<string, Call> = {
  saga: ({ sagas }, value) => sagas.start(value, {}),
  options: ({ sagas }, value) => sagas.start(Order, {}, value),
  id: ({ sagas }, value) => sagas.start(Order, {}, { id: value, ...LATER }),
  correlationId: ({ sagas }, value) => sagas.start(Order, {}, { correlationId: value, ...LATER }),
  manager: ({ sagas }, value) => sagas.start(Order, {}, { manager: value, ...LATER }),
  priority: ({ sagas }, value) => sagas.start(Order, {}, { priority: value, ...LATER }),
  delay: ({ sagas }, value) => sagas.start(Order, {}, { delay: value }),
  startAt: ({ sagas }, value) => sagas.start(Order, {}, { startAt: value }),
  tags: ({ sagas }, value) => sagas.start(Order, {}, { tags: value, ...LATER }),
};
const FIND_CALLS: Record<string, Call> = {
  filter: ({ sagas }, value) => sagas.find(value),
  saga: ({ sagas }, value) => sagas.find({ saga: value }),
  status: ({ sagas }, value) => sagas.find({ status: value }),
  'one of several statuses': ({ sagas }, value) => sagas.find({ status: ['running', value] }),
  correlationId: ({ sagas }, value) => sagas.find({ correlationId: value }),
  tags: ({ sagas }, value) => sagas.find({ tags: value }),
  'the value of a tag': ({ sagas }, value) => sagas.find({ tags: { a: value } }),
  createdAfter: ({ sagas }, value) => sagas.find({ createdAfter: value }),
  createdBefore: ({ sagas }, value) => sagas.find({ createdBefore: value }),
  limit: ({ sagas }, value) => sagas.find({ limit: value }),
  cursor: ({ sagas }, value) => sagas.find({ cursor: value }),
};
/** The id of an existing saga. */
const OTHER_CALLS: Record<string, Call> = {
  'options of wait': ({ sagas }, value, id) => sagas.wait(id, within(value)),
  'timeout of wait': ({ sagas }, value, id) => sagas.wait(id, { timeout: short(value) }),
  'options of cancel': ({ sagas }, value, id) => sagas.cancel(id, value),
  'reason of abort': ({ operations }, value, id) => operations.abort(id, { reason: value }),
  'reason of undo': ({ operations }, value, id) => operations.undo(id, { reason: value }),
  'options of retry': ({ operations }, value, id) => operations.retry(id, value),
  'step of retry': ({ operations }, value, id) => operations.retry(id, { step: value }),
  'step of resolve': ({ operations }, value, id) => operations.resolve(id, value),
  'options of resolve': ({ operations }, value, id) => operations.resolve(id, 'act', value),
  'reason of resolve': ({ operations }, value, id) => operations.resolve(id, 'act', { reason: value }),
};

/** A duration that is one would be waited for. */
const isDuration = (value: unknown) =>
  value === '1h' || (typeof value === 'number' && value > 100) || value === undefined;
const short = (value: never): never => (isDuration(value) ? (1 as never) : value);
/** Options that say nothing wait for ever. */
const within = (value: unknown): never => {
  const saysNothing = typeof value === 'object' && value !== null;
  return (saysNothing ? { timeout: 1 } : (value ?? 7)) as never;
};

const apps = TestApps.onOwnDatabase();

/** Calls that ended with anything but a value or a readable error of the library. */
async function unclear(
  calls: Record<string, Call>,
  app: Parameters<Call>[0],
  idOf: () => Promise<string>,
): Promise<string[]> {
  const neighbours = new Neighbours(app.sagas);
  const unclear = await Promise.all(
    Object.entries(calls).flatMap(([what, call]) =>
      given.map(async ({ name, value }, n) => {
        if (n % 10 === 0) neighbours.start();
        const id = await idOf();
        try {
          await call(app, value as never, id);
          return [];
        } catch (error) {
          const { code, message } = error as { code?: unknown; message?: unknown };
          const isClear = typeof code === 'string' && code.startsWith('SAGA_') && typeof message === 'string';
          return isClear && message.length < 1_000 ? [] : [`${what} ${name}: ${String(error).slice(0, 200)}`];
        }
      }),
    ),
  );
  await neighbours.expectUnharmed();
  return unclear.flat();
}

const stored = () => apps.sql(`SELECT status FROM saga.instance WHERE name = 'order'`);

test('a target of any kind is a saga that is there, or is refused with a clear error', async () => {
  const app = await apps.start({ sagas: [Order, Neighbour] });
  const { sagas } = app;
  await sagas.start(Order, {}, LATER);
  expect(await unclear(TARGET_CALLS, app, async () => randomUUID())).toEqual([]);
  expect(await stored()).toEqual([{ status: 'running' }]);
});

test('options of start() of any kind are used, or refused with a clear error, and nothing is stored then', async () => {
  const app = await apps.start({ sagas: [Order, Neighbour] });
  let accepted = 0;
  const counted = Object.entries(START_CALLS).map(([what, call]): [string, Call] => [
    what,
    async (...args) => {
      await call(...args);
      accepted += 1;
    },
  ]);
  expect(await unclear(Object.fromEntries(counted), app, async () => '')).toEqual([]);
  expect(await stored()).toHaveLength(accepted);
});

test('a filter of any kind finds, or is refused with a clear error', async () => {
  const app = await apps.start({ sagas: [Order, Neighbour] });
  expect(await unclear(FIND_CALLS, app, async () => '')).toEqual([]);
});

test('what an operator gives is used, or refused with a clear error', async () => {
  const app = await apps.start({ sagas: [Order, Neighbour] });
  const { sagas } = app;
  const later = async () => (await sagas.start(Order, {}, LATER)).id;
  expect(await unclear(OTHER_CALLS, app, later)).toEqual([]);
});

test('options of the module of any kind are used, or refused as such', () => {
  const options = [
    'dataSource',
    'schema',
    'migrate',
    'onDrift',
    'worker',
    'retry',
    'compensationRetry',
    'maxPayloadBytes',
  ];
  const ofWorker = ['concurrency', 'pollInterval', 'lease', 'sagas', 'shutdownTimeout', 'maxTakeovers'];
  const wrong = given.flatMap(({ name, value }) =>
    [
      ...options.map((option) => ({ [option]: value })),
      ...ofWorker.map((option) => ({ worker: { [option]: value } })),
    ].flatMap((made) => {
      try {
        withDefaults(made);
        return [];
      } catch (error) {
        return error instanceof SagaConfigurationError
          ? []
          : [`${Object.keys(made)[0]} ${name}: ${String(error)}`];
      }
    }),
  );
  expect(wrong).toEqual([]);
});
