import type { Type } from '@nestjs/common';
import { buildSagaGraph } from './build-saga-graph.js';
import { problemsOf, sagaOf } from '../../../../../test/fixtures/saga-of.js';
import type { StepNode } from '../graph/saga-graph.js';
import type { StepOptions } from '../options/step-options.js';

function node(saga: Type, step: string): StepNode {
  return buildSagaGraph(saga).steps.get(step)!;
}

describe('the edges of a graph', () => {
  const edges = (saga: Type) =>
    [...buildSagaGraph(saga).steps.values()].map(({ name, after, join }) => [name, after, join]);

  it('are those that after names, one or several; [] starts immediately', () => {
    const steps = { a: {}, b: { after: [] }, c: { after: 'a' }, d: { after: ['a', 'b'] }, e: {} };
    expect(edges(sagaOf(steps))).toEqual([
      ['a', [], 'all'],
      ['b', [], 'all'],
      ['c', ['a'], 'all'],
      ['d', ['a', 'b'], 'all'],
      ['e', ['d'], 'all'],
    ]);
  });

  it('may lead to steps that are declared later', () => {
    expect(edges(sagaOf({ a: { after: 'b' }, b: { after: [] } }))).toEqual([
      ['b', [], 'all'],
      ['a', ['b'], 'all'],
    ]);
  });

  it('may be joined by any', () => {
    const steps = { a: {}, b: { after: [] }, c: { after: ['a', 'b'], join: 'any' } };
    expect(edges(sagaOf(steps)).at(-1)).toEqual(['c', ['a', 'b'], 'any']);
  });
});

describe('the node of a step', () => {
  const plain = { kind: 'step', join: 'all', itemsAtOnce: 10, pivot: false, optional: false };

  it('has the documented defaults', () => {
    const found = node(sagaOf({ pay: {} }), 'pay');
    expect(found).toMatchObject(plain);
    for (const option of ['when', 'forEach', 'delay', 'probe', 'savepoint', 'rateLimit'] as const) {
      expect(found[option]).toBeUndefined();
    }
  });

  it('is optional with onFailure continue, and not with compensate', () => {
    expect(node(sagaOf({ pay: { onFailure: 'continue' } }), 'pay').optional).toBe(true);
    expect(node(sagaOf({ pay: { onFailure: 'compensate' } }), 'pay').optional).toBe(false);
  });

  it('has what its options say', () => {
    const [when, forEach] = [() => true, () => [1]];
    const pay = {
      when,
      forEach,
      itemsAtOnce: 3,
      delay: '5s',
      probe: 'look',
      rateLimit: { count: 10, per: '1s' },
    };
    expect(node(sagaOf({ pay }), 'pay')).toMatchObject({
      ...pay,
      delay: 5_000,
      rateLimit: { count: 10, per: 1_000 },
    });
  });

  it('has a limit over all sagas, which bounds the items of each saga as well, unless each has a key', () => {
    const key = () => 'a';
    const nodeOf = (limit: StepOptions['limit']) => node(sagaOf({ pay: { limit } }), 'pay');
    expect(nodeOf({ count: 3 })).toMatchObject({ itemsAtOnce: 3, limit: { count: 3 } });
    expect(nodeOf(3)).toMatchObject({ itemsAtOnce: 3, limit: { count: 3 } });
    expect(nodeOf({ count: 30 })).toMatchObject({ itemsAtOnce: 10, limit: { count: 30 } });
    expect(nodeOf({ count: 3, key })).toMatchObject({ itemsAtOnce: 10, limit: { count: 3, key } });
    const both = { forEach: () => [], itemsAtOnce: 8, limit: 3 };
    expect(node(sagaOf({ pay: both }), 'pay')).toMatchObject({ itemsAtOnce: 8, limit: { count: 3 } });
    expect(node(sagaOf({ pay: {} }), 'pay').limit).toBeUndefined();
  });

  it('is the pivot if it says so', () => {
    expect(node(sagaOf({ pay: { pivot: true } }), 'pay').pivot).toBe(true);
  });

  it.each([
    [true, { attempts: 2 }],
    [false, undefined],
    [{ attempts: 5 }, { attempts: 5 }],
  ])('of savepoint %p has %p', (savepoint, expected) => {
    expect(node(sagaOf({ pay: { savepoint }, book: {} }), 'pay').savepoint).toEqual(expected);
  });

  it('without a wait has no delay', () => {
    expect(node(sagaOf({ pay: { delay: 0 } }), 'pay').delay).toBeUndefined();
  });

  it('may be a fan-out that is transactional', () => {
    const pay = { forEach: () => [], transactional: true };
    expect(node(sagaOf({ pay }), 'pay')).toMatchObject({ transactional: true, forEach: pay.forEach });
  });
});

describe('an invalid position of a step in the graph', () => {
  it.each<[string, object, RegExp]>([
    ['after a compensation', { after: 'undo' }, /after names 'undo', which is a compensation; name a step/],
    ['after a plain method', { after: 'look' }, /after names 'look', which is a plain method; decorate it/],
    ['after itself', { after: ['book', 'pay'] }, /after names the step itself; remove it/],
    [
      'after a slip',
      { after: 'boook' },
      /waits for 'boook', which is not a step .*; did you mean 'book'\? Name one/,
    ],
    ['after what nothing is like', { after: 'xyz' }, /'xyz', .*; name one of its steps: book, send, pay/],
    ['after a step twice', { after: ['book', 'book', 'send'] }, /after names 'book' twice; name it once/],
    ['after no name', { after: [7, 'send'] }, /after has 7; give the name of a step, or several/],
    ['after null', { after: null }, /after has null; give the name/],
    ['join without after', { join: 'all' }, /join chooses .* waits for 'send' alone; name at least two/],
    ['join after one', { after: 'book', join: 'any' }, /join chooses .* waits for 'book' alone/],
    ['join after none', { after: [], join: 'any' }, /join chooses .* waits for none/],
    ['another join', { after: ['book', 'send'], join: 'some' }, /join is 'some'; give 'all' or 'any'/],
    ['when that is no function', { when: true }, /when is true; give a function/],
    ['forEach that is no function', { forEach: [1] }, /forEach is \[ 1 \]; give a function/],
    [
      'a fan-out as the pivot',
      { forEach: () => [], pivot: true },
      /forEach cannot be a pivot; make the step after it/,
    ],
    [
      'items at once of nothing',
      { itemsAtOnce: 2 },
      /itemsAtOnce bounds the items of forEach.*; give limit: 2 to limit the step over all sagas, add forEach/,
    ],
    ['a limit of none', { limit: { count: 0 } }, /limit\.count is 0; give a whole/],
    [
      'a limit without a count',
      { limit: { key: () => 'a' } },
      /limit\.count is undefined; give a whole number/,
    ],
    [
      'a limit with a key that is no function',
      { limit: { count: 1, key: 'tenant' } },
      /limit\.key is 'tenant'; give a function/,
    ],
    [
      'a limit with an option that there is not',
      { limit: { count: 1, per: '1s' } },
      /unknown option 'limit\.per'/,
    ],
    [
      'no item at once',
      { forEach: () => [], itemsAtOnce: 0 },
      /itemsAtOnce is 0; give a whole number from 1/,
    ],
    ['half an item at once', { forEach: () => [], itemsAtOnce: 1.5 }, /itemsAtOnce is 1\.5/],
    ['a limit of none', { limit: 0 }, /limit is 0; give a whole number from 1/],
    ['a delay that is none', { delay: 'later' }, /delay: 'later' is not a duration; give milliseconds/],
    [
      'a probe that is missing',
      { probe: 'ask' },
      /probe 'ask' is not a method of OrderSaga; add the method, or name look/,
    ],
    ['a probe that is a step', { probe: 'book' }, /probe 'book' is itself a step; name a plain/],
    ['a probe that undoes', { compensate: 'undo', probe: 'undo' }, /probe 'undo' is a compensation; /],
    ['another step’s undoing as a probe', { probe: 'undo' }, /probe 'undo' is a compensation; /],
    ['a probe in a transaction', { probe: 'look', transactional: true }, /always known; remove probe/],
    [
      'a savepoint of one attempt',
      { savepoint: { attempts: 1 } },
      /savepoint\.attempts is 1; give .* from 2/,
    ],
    ['a savepoint of a number', { savepoint: 3 }, /savepoint is 3; give true, or \{ attempts: 3 \}/],
    [
      'a savepoint with more',
      { savepoint: { attempts: 2, to: 1 } },
      /unknown option 'savepoint.to'. The options are: att/,
    ],
    ['a rate of nothing', { rateLimit: { count: 0, per: '1s' } }, /rateLimit\.count is 0; give a whole/],
    [
      'a rate per nothing',
      { rateLimit: { count: 1, per: 0 } },
      /rateLimit\.per 0 would limit nothing; remove/,
    ],
    [
      'a rate per no duration',
      { rateLimit: { count: 1, per: 'x' } },
      /rateLimit\.per: 'x' is not a duration/,
    ],
    ['a rate without its time', { rateLimit: { count: 1 } }, /rateLimit\.per: undefined is not a duration/],
    [
      'a rate with a key that is no function',
      { rateLimit: { count: 1, per: '1s', key: 'tenant' } },
      /rateLimit\.key is 'tenant'; give a function/,
    ],
    ['a rate that is none', { rateLimit: null }, /rateLimit is null; give an object such as \{ count: 10/],
    ['a pivot that is no flag', { pivot: 'yes' }, /pivot is 'yes'; give true or false/],
    ['transactional that is no flag', { transactional: 1 }, /transactional is 1; give true or false/],
  ])('is %s', (_, pay, fix) => {
    const saga = sagaOf({ book: { compensate: 'undo' }, send: {}, pay });
    const message = problemsOf(saga);
    expect(message).toMatch(/^OrderSaga: step 'pay': /);
    expect(message).toMatch(fix);
    expect(message.match(/step 'pay': /g)).toHaveLength(1);
  });

  it('is a cycle, which is named', () => {
    expect(problemsOf(sagaOf({ a: { after: 'c' }, b: {}, c: {} }))).toMatch(
      /step 'a': waits for itself, in the cycle a → b → c → a; take one/,
    );
  });

  it('is what can never work, whatever happens', () => {
    const steps = { pay: { pivot: true }, book: { compensate: 'undo' } };
    expect(problemsOf(sagaOf(steps))).toMatch(
      /step 'book': its compensation 'undo' can never run.*pivot 'pay'/,
    );
  });

  it('is shown with all that is wrong besides', () => {
    const message = problemsOf(sagaOf({ a: { after: 'x' }, b: { after: 'c' }, c: { delay: 'x' } }));
    for (const problem of [/step 'a': waits for 'x'/, /cycle b → c → b/, /step 'c': delay: 'x'/]) {
      expect(message).toMatch(problem);
    }
  });
});

describe('an optional step', () => {
  it('cannot be a pivot', () => {
    expect(problemsOf(sagaOf({ pay: { onFailure: 'continue', pivot: true } }))).toMatch(
      /step 'pay': a pivot cannot have onFailure 'continue'.*remove onFailure, or make a step after it the pivot/,
    );
  });

  it('has no other kind of failure than those that a step can lead to', () => {
    expect(problemsOf(sagaOf({ pay: { onFailure: 'suspend' as never } }))).toMatch(
      /step 'pay': onFailure.*give 'compensate' or 'continue'/,
    );
  });

  it('may be compensated behind a pivot, where it alone is', () => {
    const steps = { pay: { pivot: true }, car: { onFailure: 'continue', compensate: 'undo' } } as const;
    expect(node(sagaOf(steps), 'car').compensate).toBe('undo');
  });

  it('is nothing that a savepoint is returned to for', () => {
    const steps = { pay: { savepoint: true }, car: { onFailure: 'continue' } } as const;
    expect(problemsOf(sagaOf(steps))).toMatch(/step 'pay': it is a savepoint, but no later step can fail/);
  });
});

describe('the time of a compensation', () => {
  it('is in milliseconds, of any step that has a compensation', () => {
    const pay = { compensate: 'undo', compensationTimeout: '2m', timeout: '1s' } as const;
    expect(node(sagaOf({ pay }), 'pay')).toMatchObject({ compensationTimeout: 120_000, timeout: 1_000 });
  });

  it('is refused without a compensation, and if it would fail every attempt', () => {
    expect(problemsOf(sagaOf({ pay: { compensationTimeout: '2m' } }))).toMatch(
      /step 'pay': compensationTimeout needs a compensation/,
    );
    expect(problemsOf(sagaOf({ pay: { compensate: 'undo', compensationTimeout: 0 } }))).toMatch(
      /compensationTimeout 0 would fail every attempt of the compensation/,
    );
  });
});

describe('the reply to a compensation', () => {
  const reply = { signal: 'refunded', timeout: '2m' } as const;
  const pay = { compensate: 'undo', compensationReply: reply } as const;

  it('has a time limit in milliseconds, or none', () => {
    expect(node(sagaOf({ pay }), 'pay')).toMatchObject({
      compensationReply: { signal: 'refunded', timeout: 120_000 },
    });
    const patient = { ...pay, compensationReply: { signal: 'refunded' } };
    expect(node(sagaOf({ pay: patient }), 'pay').compensationReply).toEqual({ signal: 'refunded' });
  });

  it.each([
    [{ compensationReply: reply }, /step 'pay': compensationReply needs a compensation/],
    [
      { ...pay, compensationReply: { ...reply, timeout: 0 } },
      /compensationReply.timeout 0 would wait for nothing/,
    ],
    [{ ...pay, compensationReply: { signal: 'approval:x' } }, /compensationReply.signal is "?'?approval:x/],
    [{ ...pay, compensationReply: { ...reply, within: 1 } }, /within/],
    [{ ...pay, forEach: () => [1] }, /compensationReply cannot confirm the compensations of the items/],
  ])('is refused where it is wrong: %j', (options, problem) => {
    expect(problemsOf(sagaOf({ pay: options }))).toMatch(problem);
  });

  it('is refused if another step waits for the same signal', () => {
    expect(problemsOf(sagaOf({ pay, book: pay }))).toMatch(
      /its compensationReply is the signal 'refunded', which is also the compensationReply of step 'book'/,
    );
  });
});

describe('the heartbeat of a step', () => {
  it('is in milliseconds', () => {
    expect(node(sagaOf({ pay: { heartbeat: '30s', timeout: '1h' } }), 'pay')).toMatchObject({
      heartbeat: 30_000,
      timeout: 3_600_000,
    });
  });

  it('is refused if it would lose every attempt, or has no effect', () => {
    expect(problemsOf(sagaOf({ pay: { heartbeat: 0 } }))).toMatch(/heartbeat 0 would lose every attempt/);
    expect(problemsOf(sagaOf({ pay: { heartbeat: '30' as never } }))).toMatch(/step 'pay': heartbeat/);
    expect(problemsOf(sagaOf({ pay: { heartbeat: '1m', timeout: '60s' } }))).toMatch(
      /step 'pay': heartbeat is not shorter than timeout, so that it has no effect/,
    );
    expect(problemsOf(sagaOf({ pay: { heartbeat: '1m', transactional: true } }))).toMatch(
      /a transactional step cannot have a heartbeat, because an attempt that is lost leaves nothing/,
    );
  });
});
