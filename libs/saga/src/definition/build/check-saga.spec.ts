import { buildSagaGraph } from './build-saga-graph.js';
import { problemsOf, sagaOf } from '../../../../../test/fixtures/saga-of.js';

describe('the graph’s own options', () => {
  it('are by default none, and to compensate', () => {
    const graph = buildSagaGraph(sagaOf({ pay: {} }));
    expect(graph).toMatchObject({ onFailure: 'compensate' });
    const { timeout, lockKey, limit, input } = graph;
    expect([timeout, lockKey, limit, input]).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('are what the saga says', () => {
    const options = { timeout: '1h', onFailure: 'suspend', lockKey: () => 'key', limit: 3 };
    expect(buildSagaGraph(sagaOf({ pay: {} }, options))).toMatchObject({
      ...options,
      timeout: 3_600_000,
      limit: { count: 3 },
    });
  });

  it('say what the input has to be: a class, or a Standard Schema, which may be a function or a class itself', () => {
    const standard = { version: 1, vendor: 'by-hand', validate: (value: unknown) => ({ value }) } as const;
    class Dto {}
    class WithSchema {
      static readonly '~standard' = standard;
    }
    for (const input of [
      Dto,
      { '~standard': standard },
      Object.assign(() => 1, { '~standard': standard }),
      WithSchema,
    ])
      expect(buildSagaGraph(sagaOf({ pay: {} }, { input })).input).toBe(input);
  });

  it('say which versions it is moved from, the latest first', () => {
    const from = (upgradeFrom: unknown) =>
      buildSagaGraph(sagaOf({ pay: {} }, { version: 4, upgradeFrom })).upgradeFrom;
    expect([from(undefined), from(1), from([1, 3, 1])]).toEqual([undefined, [1], [3, 1]]);
  });

  it.each<[string, object, RegExp]>([
    ['a timeout of 0', { timeout: 0 }, /@Saga timeout 0 would .*; remove the option to set none/],
    ['a timeout that is no duration', { timeout: 'soon' }, /@Saga timeout: 'soon' is not a duration; give/],
    ['another durability', { durability: 'lax' }, /@Saga durability is 'lax'; give 'durable' or 'relaxed'/],
    ['another onFailure', { onFailure: 'ignore' }, /@Saga onFailure is 'ignore'; give 'compensate' or 'susp/],
    [
      'moved from the same version',
      { version: 2, upgradeFrom: 2 },
      /upgradeFrom 2 is not lower than the version 2; give a lower/,
    ],
    [
      'moved from a later version',
      { version: 2, upgradeFrom: [1, 3] },
      /upgradeFrom 3 is not lower than the version 2; give a/,
    ],
    [
      'moved from version 0',
      { version: 2, upgradeFrom: 0 },
      /upgradeFrom 0 is not lower than the version 2; give a lower/,
    ],
    [
      'moved from no number',
      { version: 2, upgradeFrom: '1' },
      /upgradeFrom '1' is not lower than the version 2; give a/,
    ],
    [
      'moved to the first version',
      { upgradeFrom: 1 },
      /upgradeFrom 1 is not lower than the version 1; give the new graph a hi/,
    ],
    ['a key that is no function', { lockKey: 'id' }, /@Saga lockKey is 'id'; give a function/],
    [
      'checked by a name',
      { input: 'PlaceOrder' },
      /@Saga input is 'PlaceOrder'; give a class with class-validator/,
    ],
    ['checked by nothing', { input: null }, /@Saga input is null; give a class with class-validator/],
    [
      'checked by a schema of its own kind',
      { input: { parse: () => 1 } },
      /@Saga input is .*Standard Schema/,
    ],
    [
      'checked by a mere function',
      { input: () => true },
      /@Saga input is .*Standard Schema \(zod from 3\.24/,
    ],
    [
      'checked by a schema that cannot be read',
      {
        input: new Proxy(
          {},
          {
            get: () => {
              throw new Error('trap');
            },
          },
        ),
      },
      /@Saga input is .*; give a class with class-validator/,
    ],
    [
      'redacted by what is no array',
      { redact: 'card' },
      /@Saga redact is 'card'; give an array of field paths/,
    ],
    [
      'redacted at no key',
      { redact: ['card..number'] },
      /@Saga redact is .*'card..number'.*; give an array of field paths/,
    ],
    ['redacted by a number', { redact: [1] }, /@Saga redact is \[ 1 \]; give an array of field paths/],
    ['none of a key at once', { limit: { count: 0 } }, /limit\.count is 0; give a whole number from 1/],
    [
      'of a key that is no function',
      { limit: { count: 1, key: 'tenant' } },
      /@Saga limit\.key is 'tenant'; give a function/,
    ],
    [
      'limited by an unknown option',
      { limit: { count: 1, per: '1s' } },
      /unknown option 'limit\.per'. The options are: count, key/,
    ],
    [
      'rejecting without a lock',
      { lockMode: 'reject' },
      /@Saga lockMode needs a lock; add lockKey, or remove lockMode/,
    ],
    [
      'locked in another mode',
      { lockKey: () => 'a', lockMode: 'wait' },
      /@Saga lockMode is 'wait'; give 'queue' or/,
    ],
    ['none at once', { limit: 0 }, /@Saga limit is 0; give a whole number from 1/],
    ['a part of one at once', { limit: 1.5 }, /@Saga limit is 1.5; give a whole number from 1/],
    ['endlessly many at once', { limit: Infinity }, /@Saga limit is Infinity; give a whole/],
  ])('are never %s', (_, options, fix) => {
    expect(problemsOf(sagaOf({ pay: {} }, options))).toMatch(fix);
  });
});
