import { diffGraphs } from './diff-graphs.js';
import type { StepRecord } from './graph-record.js';
import { recordWith } from '../../../../../test/fixtures/record-of.js';

const ORDER = { reserve: {}, charge: { compensate: 'refund' }, ship: {} };

describe('the difference between two graphs', () => {
  test.each<[string, Record<string, Partial<StepRecord>>, string[]]>([
    ['nothing', ORDER, []],
    [
      'a step that is gone',
      { reserve: {}, ship: { after: ['reserve'] } },
      ["step 'charge' was removed", "step 'ship' waits for 'reserve' instead of 'charge'"],
    ],
    ['a step that is new', { ...ORDER, thank: {} }, ["step 'thank' is new"]],
    [
      'other edges',
      { ...ORDER, ship: { after: ['charge', 'reserve'] } },
      ["step 'ship' waits for 'charge' and 'reserve' instead of 'charge'"],
    ],
    ['no edges', { ...ORDER, ship: { after: [] } }, ["step 'ship' waits for nothing instead of 'charge'"]],
    [
      'another compensation',
      { ...ORDER, charge: { compensate: 'giveBack' } },
      ["step 'charge' has the compensation 'giveBack' instead of 'refund'"],
    ],
    [
      'no compensation',
      { ...ORDER, charge: {} },
      ["step 'charge' has no compensation any more, and had 'refund'"],
    ],
    [
      'a compensation',
      { ...ORDER, ship: { compensate: 'recall' } },
      ["step 'ship' has the compensation 'recall' now"],
    ],
    ['a fan-out', { ...ORDER, ship: { forEach: true } }, ["step 'ship' runs once per item now"]],
    ['a savepoint', { ...ORDER, reserve: { savepoint: true } }, ["step 'reserve' is a savepoint now"]],
    ['a pivot', { ...ORDER, ship: { pivot: true } }, ["step 'ship' is a pivot now"]],
    [
      'a sub-saga',
      { ...ORDER, ship: { kind: 'sub-saga', child: 'shipment' } },
      ["step 'ship' is now a sub-saga, and was a step"],
    ],
    [
      'a wait for a signal',
      { ...ORDER, ship: { kind: 'signal', signal: 'shipped' } },
      ["step 'ship' is now a wait for a signal, and was a step"],
    ],
    ['how a step is called is no structure', { ...ORDER, ship: { transactional: true } }, []],
  ])('is named: %s', (_, after, differences) => {
    expect(diffGraphs(recordWith(ORDER), recordWith(after)).differences).toEqual(differences);
  });

  test.each<[Partial<StepRecord>, string]>([
    [{ forEach: true }, "step 'a' runs once per item no longer"],
    [{ savepoint: true }, "step 'a' is a savepoint no longer"],
    [{ pivot: true }, "step 'a' is a pivot no longer"],
    [{ join: 'any' }, "step 'a' waits for all of its steps now"],
    [{ kind: 'sub-saga', child: 'x' }, "step 'a' is now a step, and was a sub-saga"],
  ])('is named from the other side: %j', (before, difference) => {
    expect(diffGraphs(recordWith({ a: before }), recordWith({ a: {} })).differences).toEqual([difference]);
  });

  test('is named where a sub-saga runs another saga', () => {
    const sub = (child: string) => recordWith({ ship: { kind: 'sub-saga', child } });
    expect(diffGraphs(sub('parcel'), sub('letter')).differences).toEqual([
      "step 'ship' runs saga 'letter' instead of 'parcel'",
    ]);
  });

  test('is named where another signal is waited for', () => {
    const wait = (signal: string) => recordWith({ ship: { kind: 'signal', signal } });
    expect(diffGraphs(wait('shipped'), wait('sent')).differences).toEqual([
      "step 'ship' waits for signal 'sent' instead of 'shipped'",
    ]);
  });

  test('is none where only the order of declaration differs', () => {
    const [a, b, c] = recordWith({ a: { after: [] }, b: { after: [] }, c: { after: ['a', 'b'] } }).steps;
    expect(diffGraphs({ steps: [a!, b!, c!] }, { steps: [b!, a!, c!] })).toEqual({
      differences: [],
      hints: [],
    });
  });
});

describe('a rename', () => {
  test('is guessed if one new step has the position of a removed one', () => {
    const renamed = recordWith({ reserve: {}, pay: { compensate: 'refund' }, ship: {} });
    const { differences, hints } = diffGraphs(recordWith(ORDER), renamed);
    expect(differences).toEqual([
      "step 'charge' was removed",
      "step 'pay' is new",
      "step 'ship' waits for 'pay' instead of 'charge'",
    ]);
    expect(hints).toEqual([expect.stringContaining("'charge' may have been renamed to 'pay'")]);
  });

  test.each<[string, Record<string, Partial<StepRecord>>]>([
    [
      'of two that could be meant',
      { reserve: {}, pay: {}, bill: { after: ['reserve'] }, ship: { after: ['pay', 'bill'] } },
    ],
    ['of one in another place', { reserve: {}, ship: { after: ['reserve'] }, thank: {} }],
    ['of one of another kind', { reserve: {}, pay: { forEach: true }, ship: {} }],
  ])('is not guessed %s', (_, after) => {
    expect(diffGraphs(recordWith(ORDER), recordWith(after)).hints).toEqual([]);
  });
});
