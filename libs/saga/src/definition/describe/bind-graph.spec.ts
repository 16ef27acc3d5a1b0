import type { Type } from '@nestjs/common';
import { bindGraph, type DeployedSaga } from './bind-graph.js';
import { buildSagaGraph } from '../build/build-saga-graph.js';
import { recordOf } from './graph-record.js';
import { recordWith } from '../../../../../test/fixtures/record-of.js';
import { sagaOf } from '../../../../../test/fixtures/saga-of.js';
import { methodsOf } from '../decorators/saga-methods.js';

const deployed = (type: Type): DeployedSaga => ({
  graph: buildSagaGraph(type),
  methods: new Set(methodsOf(type).plain),
});
const UNDO = { compensate: 'undo' };

describe('a stored graph', () => {
  const saga = deployed(
    sagaOf({ reserve: UNDO, pay: { ...UNDO, retry: { attempts: 7 }, transactional: true }, ship: {} }),
  );
  const stored = recordWith({ reserve: UNDO, charge: UNDO, ship: {} });

  test('keeps its structure, and takes what is called and how often from the class', () => {
    const { graph } = bindGraph(stored, saga);
    expect(recordOf(graph).steps.map(({ name, after, compensate }) => [name, after, compensate])).toEqual([
      ['reserve', [], 'undo'],
      ['charge', ['reserve'], 'undo'],
      ['ship', ['charge'], undefined],
    ]);
    expect(graph.steps.get('ship')!.retry).toBe(saga.graph.steps.get('ship')!.retry);
    expect(graph.steps.get('reserve')!.dependents).toEqual(['charge']);
  });

  test('has what is gone undone as the step that took its compensation over', () => {
    const own = deployed(sagaOf({ pay: { ...UNDO, transactional: true } }));
    expect(bindGraph(recordWith({ charge: UNDO }), own).graph.steps.get('charge')).toMatchObject({
      transactional: true,
      compensate: 'undo',
    });
    const nobody = bindGraph(recordWith({ charge: { compensate: 'look', transactional: true } }), own);
    expect(nobody.graph.steps.get('charge')).toMatchObject({
      transactional: true,
      compensationRetry: { attempts: 10 },
    });
  });

  test('that is the class’s own has no gaps, and comes back as it was', () => {
    const every = sagaOf({
      a: { ...UNDO, savepoint: true },
      b: { forEach: () => [1], after: ['a'], compensate: 'undo' },
      c: { after: ['a'], savepoint: true },
      d: { after: ['b', 'c'], join: 'any' },
      e: { pivot: true },
    });
    const own = deployed(every);
    const record = recordOf(own.graph);
    const bound = bindGraph(record, own);
    expect(bound.gaps).toEqual(new Map());
    expect(recordOf(bound.graph)).toEqual(record);
    expect(recordOf(bindGraph(JSON.parse(JSON.stringify(record)), own).graph)).toEqual(record);
  });
});

describe('a gap is', () => {
  const each = { forEach: () => [] };
  test.each<[string, Parameters<typeof recordWith>[0], Record<string, object>, object]>([
    ['nothing, where all is there', { a: UNDO }, { a: UNDO }, {}],
    ['nothing, where the class has more', { a: {} }, { a: UNDO, b: {} }, {}],
    ['a step that is gone', { a: {} }, { b: {} }, { a: { run: 'was removed' } }],
    [
      'a method that is not a step any more',
      { look: {} },
      { a: {} },
      { look: { run: 'is not a step any more' } },
    ],
    ['a step that has become a fan-out', { a: {} }, { a: each }, { a: { run: 'runs once per item now' } }],
    [
      'a fan-out that is none any more, with what undid its items',
      { a: { ...UNDO, forEach: true } },
      { a: UNDO },
      {
        a: {
          run: 'does not run once per item any more',
          undo: "has the compensation 'undo', but the step does not run once per item any more",
        },
      },
    ],
    [
      'not the old compensation of a step that has become a fan-out with another',
      { a: UNDO },
      { a: { ...each, compensate: 'look' } },
      { a: { run: 'runs once per item now' } },
    ],
    [
      'a compensation that is gone',
      { a: { compensate: 'refund' } },
      { a: UNDO },
      { a: { undo: "has the compensation 'refund', and this method was removed" } },
    ],
    [
      'a compensation that has become a step',
      { a: { compensate: 'b' } },
      { a: {}, b: {} },
      { a: { undo: "has the compensation 'b', which is a step now" } },
    ],
    [
      'a sub-saga that is none any more',
      { a: { kind: 'sub-saga', child: 'parcel' } },
      { a: {} },
      {
        a: {
          run: 'is now a step, and was a sub-saga',
          undo: "is not compensated by its saga 'parcel' any more",
        },
      },
    ],
  ])('%s', (_, stored, steps, gaps) => {
    const bound = bindGraph(recordWith(stored), deployed(sagaOf(steps)));
    expect(Object.fromEntries(bound.gaps)).toEqual(gaps);
  });
});
