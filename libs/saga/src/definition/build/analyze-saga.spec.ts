import { textOfDiagnostic } from '../../shared/diagnostic.js';
import fc from 'fast-check';
import type { Type } from '@nestjs/common';
import { analyzeSaga, buildSagaGraph } from './build-saga-graph.js';
import { PlaceOrderSaga, problemsOf, sagaOf } from '../../../../../test/fixtures/saga-of.js';

describe('the analysis of a saga', () => {
  it('finds nothing wrong with a right one', () => {
    expect(analyzeSaga(PlaceOrderSaga)).toEqual([]);
  });

  it('says of each finding which step it is about, what is wrong and the fix', () => {
    expect(
      analyzeSaga(sagaOf({ pay: { retry: { attempts: 0 } }, book: { after: 'x' } }, { version: 0 })),
    ).toEqual([
      { problem: '@Saga version is 0', fix: 'give a whole number from 1', severity: 'error' },
      {
        step: 'pay',
        problem: 'retry.attempts is 0',
        fix: 'give a whole number from 1',
        severity: 'error',
      },
      {
        step: 'book',
        problem: "waits for 'x', which is not a step of this saga",
        fix: 'name one of its steps: pay, book',
        severity: 'error',
      },
    ]);
  });

  it.each<[string, () => Type]>([
    ['a class that is no saga', () => class Plain {}],
    ['a saga without steps', () => sagaOf({})],
    ['options that are none', () => sagaOf({ pay: { savepoint: null, retry: 3, after: Symbol('x') } })],
  ])('finds what is wrong with %s, and does not throw', (_, saga) => {
    expect(analyzeSaga(saga()).length).toBeGreaterThan(0);
  });

  it('says what the application would say', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom('a', 'b', 'c', 'd'),
          fc.record(
            {
              after: fc.oneof(fc.anything(), fc.subarray(['a', 'b', 'c', 'd', 'look'])),
              join: fc.constantFrom('all', 'any'),
              savepoint: fc.oneof(fc.boolean(), fc.anything()),
              pivot: fc.boolean(),
              rateLimit: fc.anything(),
              delay: fc.anything(),
              probe: fc.constantFrom('look', 'undo', 'a'),
            },
            { requiredKeys: [] },
          ),
          { noNullPrototype: true },
        ),
        (steps) => {
          const saga = sagaOf(steps);
          const findings = analyzeSaga(saga);
          if (findings.length === 0) return void buildSagaGraph(saga);
          const message = problemsOf(saga);
          for (const finding of findings) expect(message).toContain(textOfDiagnostic(finding));
        },
      ),
    );
  });
});
