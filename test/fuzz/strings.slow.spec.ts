import type { Type } from '@nestjs/common';
import fc from 'fast-check';
import { Saga, SagaConfigurationError, Step, type StepContext } from '../../libs/saga/src/index.js';
import { sagaMigrations } from '../../libs/saga/src/database.js';
import { hostileTexts, isStorable, SQL_TEXTS, storableTexts } from '../fixtures/hostile-values.js';
import { fuzz } from '../fixtures/fuzz-settings.js';
import { TestApps } from '../support/test-app.js';
import { allAtOnce, casesOf, IN_TIME, Neighbour, Neighbours } from './neighbour-sagas.js';

const apps = TestApps.onOwnDatabase();
const unique = (texts: string[]): string[] => [...new Set(texts)];
const texts = unique([...SQL_TEXTS, 'x'.repeat(255), '数'.repeat(255), ...casesOf(hostileTexts, 100)]);
const isKey = (text: string) => isStorable(text) && text.length > 0 && text.length <= 255;
const [keys, noKeys] = [texts.filter(isKey), texts.filter((text) => !isKey(text))];

@Saga({ name: 'tell' })
class Tell {
  @Step({ delay: 0 }) tell({ correlationId }: StepContext) {
    return { correlationId };
  }
}
const LATER = { delay: '1h' } as const;
const fulfilled = <T>(results: PromiseSettledResult<T>[]): T[] =>
  results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
const codes = (results: PromiseSettledResult<unknown>[]): unknown[] =>
  results.map((result) =>
    result.status === 'rejected' ? (result.reason as { code?: unknown }).code : 'none',
  );
const all = (list: readonly unknown[], code: string): string[] => list.map(() => code);

test('any text is a correlation id, by which its saga alone is found, or is refused', async () => {
  const { sagas } = await apps.start({ sagas: [Tell, Neighbour] });
  const neighbours = new Neighbours(sagas);
  const started = fulfilled(
    await allAtOnce(keys, neighbours, (correlationId) => sagas.start(Tell, {}, { correlationId })),
  );
  expect(new Set(started.map(({ id }) => id)).size).toBe(keys.length);
  await Promise.all(
    keys.map(async (correlationId, n) => {
      const { id, outcome } = started[n]!;
      expect((await outcome(IN_TIME)).results).toEqual({ tell: { correlationId } });
      expect(await sagas.get({ saga: Tell, correlationId })).toMatchObject({ id, correlationId });
      expect((await sagas.find({ correlationId })).items).toMatchObject([{ id, correlationId }]);
      expect(await sagas.start(Tell, {}, { correlationId })).toMatchObject({ id, created: false });
    }),
  );
  await neighbours.expectUnharmed();
  const refused = await Promise.allSettled(
    noKeys.map((correlationId) => sagas.start(Tell, {}, { correlationId })),
  );
  expect(codes(refused)).toEqual(all(noKeys, 'SAGA_VALIDATION'));
  const missing = await Promise.allSettled(
    noKeys.map((correlationId) => sagas.get({ saga: Tell, correlationId })),
  );
  expect(codes(missing)).toEqual(all(noKeys, 'SAGA_NOT_FOUND'));
});

test('any text is the key and the value of a tag, by which its saga is found, or is refused', async () => {
  const { sagas } = await apps.start({ sagas: [Tell, Neighbour] });
  const neighbours = new Neighbours(sagas);
  const tagged = keys.map((key, n) => [key, keys.at(n - 1)!] as const);
  const tagsOf = ([key, value]: readonly [string, string]) => Object.fromEntries([[key, value]]);
  const started = fulfilled(
    await allAtOnce(tagged, neighbours, (one) => sagas.start(Tell, {}, { tags: tagsOf(one), ...LATER })),
  );
  await Promise.all(
    tagged.map(async (one, n) => {
      const { id } = started[n]!;
      const tags = tagsOf(one);
      expect(JSON.stringify((await sagas.get(id)).tags)).toBe(JSON.stringify(tags));
      const { items } = await sagas.find({ tags });
      expect(items.map((item) => [item.id, JSON.stringify(item.tags)])).toEqual([[id, JSON.stringify(tags)]]);
    }),
  );
  await neighbours.expectUnharmed();
  const wrong = noKeys.flatMap((text) => [tagsOf([text, 'a']), tagsOf(['a', text])]);
  const refused = wrong.flatMap((tags) => [sagas.start(Tell, {}, { tags }), sagas.find({ tags })]);
  expect(codes(await Promise.allSettled(refused))).toEqual(all(refused, 'SAGA_VALIDATION'));
});

test('any text is a reason, which is kept, or is refused, and nothing is cancelled', async () => {
  const { sagas, operations } = await apps.start({ sagas: [Tell, Neighbour] });
  const neighbours = new Neighbours(sagas);
  const reasons = texts.filter(isStorable);
  const calls = [
    ...reasons.map((reason) => ['cancel', reason] as const),
    ...reasons.map((reason) => ['abort', reason] as const),
  ];
  const ids = fulfilled(
    await allAtOnce(calls, neighbours, async ([call, reason]) => {
      const { id } = await sagas.start(Tell, {}, LATER);
      await (call === 'cancel' ? sagas.cancel(id, { reason }) : operations.abort(id, { reason }));
      return id;
    }),
  );
  const failures = await Promise.all(ids.map(async (id) => (await sagas.wait(id, IN_TIME)).failure));
  expect(failures.map((failure) => failure?.reason)).toEqual(calls.map(([, reason]) => reason));
  await neighbours.expectUnharmed();
  const { id } = await sagas.start(Tell, {}, LATER);
  const wrong = [...texts.filter((text) => !isStorable(text)), 'x'.repeat(4_001)];
  const refused = wrong.flatMap((reason) => [sagas.cancel(id, { reason }), operations.abort(id, { reason })]);
  expect(codes(await Promise.allSettled(refused))).toEqual(all(refused, 'SAGA_VALIDATION'));
  expect((await sagas.get(id)).status).toBe('running');
});

/** A saga whose names go to every statement that takes one: limits, locks, retries, items, compensations. */
function namedSaga(name: string, step: string): Type {
  const [fanned, undo] = [`${step}All`, `${step}Back`];
  let failed = false;
  class Named {}
  const methods: Record<string, (ctx: StepContext) => unknown> = Object.create(null) as never;
  methods[step] = () => {
    failed = !failed;
    if (failed) throw new Error(step);
    return step;
  };
  methods[fanned] = ({ item }) => item;
  methods[undo] = () => undefined;
  for (const [key, value] of Object.entries(methods))
    Object.defineProperty(Named.prototype, key, { value, writable: true, configurable: true });
  const decorate = (method: string, options: object) =>
    (Step as (options: object) => MethodDecorator)(options)(
      Named.prototype,
      method,
      Object.getOwnPropertyDescriptor(Named.prototype, method)!,
    );
  decorate(step, {
    compensate: undo,
    retry: { attempts: 2, delay: 0 },
    rateLimit: { count: 1_000, per: '1s' },
  });
  decorate(fanned, { after: step, forEach: () => [step, name] });
  Saga({ name, limit: 5, lockKey: () => name })(Named);
  return Named;
}

const isName = (text: string) =>
  text.length > 0 && text.length <= 200 && text.trim() === text && !/[\p{Cc}\p{Cs}]/u.test(text);
const isMethod = (text: string) =>
  isName(text) && !/[\s:~[\]]/.test(text) && !['then', 'constructor'].includes(text);

test('any text is the name of a saga and of a step, in every statement that takes one', async () => {
  const names = unique(
    casesOf(storableTexts, 30).concat(SQL_TEXTS, 'x'.repeat(200), '数'.repeat(200)),
  ).filter(isName);
  const methods = names.map((name, n) => (isMethod(name) && name.length < 190 ? name : `step${n}`));
  const types = names.map((name, n) => namedSaga(name, methods[n]!));
  const { sagas } = await apps.start({ sagas: [...types, Neighbour] });
  const neighbours = new Neighbours(sagas);
  const started = fulfilled(
    await allAtOnce(types, neighbours, async (type) => {
      const first = await sagas.start(type, {});
      return [first, await sagas.start(type, {}, { correlationId: 'second' })];
    }),
  );
  await Promise.all(
    names.map(async (name, n) => {
      const step = methods[n]!;
      for (const { id, outcome } of started[n]!) {
        const { status, results } = await outcome(IN_TIME);
        expect([name, status, Object.entries(results)]).toEqual([
          ...[name, 'completed'],
          [
            [step, step],
            [`${step}All`, [step, name]],
          ],
        ]);
        expect(await sagas.get(id)).toMatchObject({
          saga: name,
          steps: [{ name: step }, { name: `${step}All` }],
        });
      }
      const [first, second] = started[n]!;
      expect((await sagas.find({ saga: name })).items.map(({ id }) => id)).toEqual([second!.id, first!.id]);
      expect((await sagas.get({ saga: name, correlationId: 'second' })).id).toBe(second!.id);
    }),
  );
  await neighbours.expectUnharmed();
});

describe('a schema', () => {
  test.each(['_', 'select', 'user', 'table', 'sagas_2', 'x'.repeat(48)])(
    'may have any name of these letters, and its processes wake each other: %s',
    async (schema) => {
      const locked = namedSaga('locked', 'act');
      const worker = await apps.start({ sagas: [locked], options: { schema } });
      worker.stopPolling();
      const web = await apps.start({ sagas: [locked], options: { schema, worker: false } });
      const { outcome } = await web.sagas.start(locked, {});
      expect((await outcome(IN_TIME)).status).toBe('completed');
      expect(await apps.sql(`SELECT status FROM "${schema}".instance`)).toEqual([{ status: 'completed' }]);
    },
  );

  test.each([
    'pg_saga',
    'information_schema',
    'Saga',
    'a"b',
    "a'b",
    'a.b',
    'a;b',
    '',
    'ä',
    '1a',
    'x'.repeat(49),
    'saga\n',
  ])('cannot be named %j, which the start says', async (schema) => {
    const refused = apps.start({ sagas: [Tell], options: { schema } });
    await expect(refused).rejects.toThrow(SagaConfigurationError);
    await expect(refused).rejects.toThrow(/schema/);
  });

  test('is named by users’ own migrations under the same rule', () => {
    const names = fc.oneof(
      hostileTexts,
      fc.constantFrom('pg_a', null, 7, ['saga'], { toString: () => 'saga' }),
    );
    fc.assert(
      fc.property(names, (name) => {
        fc.pre(typeof name !== 'string' || !/^[a-z_][a-z0-9_]{0,47}$/.test(name) || name.startsWith('pg_'));
        expect(() => sagaMigrations(name as string)).toThrow(SagaConfigurationError);
      }),
      fuzz(200),
    );
  });
});
