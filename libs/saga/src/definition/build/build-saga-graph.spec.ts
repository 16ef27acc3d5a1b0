import { textOfDiagnostic } from '../../shared/diagnostic.js';
import { inspect } from 'node:util';
import fc from 'fast-check';
import type { Type } from '@nestjs/common';
import { analyzeSaga, buildSagaGraph, type DefaultPolicies } from './build-saga-graph.js';
import { problemsOf, sagaOf } from '../../../../../test/fixtures/saga-of.js';
import { sagaLabel, type StepNode } from '../graph/saga-graph.js';
import { Saga } from '../decorators/saga.decorator.js';
import type { SagaOptions } from '../options/saga-options.js';
import { Step } from '../decorators/step.decorator.js';

@Saga()
class PlaceOrderSaga {
  @Step({ compensate: 'releaseStock' })
  reserveStock() {}
  releaseStock() {}

  @Step({ compensate: 'refund', timeout: '10s', retry: { attempts: 5 } })
  chargeCard() {}
  refund() {}

  @Step({ idempotent: false })
  ship() {}
}

/** A saga of one step with these options, as untyped callers could give them. */
function sagaWith(step: object, options: object = {}): Type {
  @Saga(options)
  class RefundSaga {
    @Step(step)
    pay() {}
    undo() {}
    @Step()
    book() {}
  }
  return RefundSaga;
}

function named(name: string, options: object = {}): Type {
  const saga = { [name]: class {} }[name]!;
  Step()(Object.assign(saga.prototype, { work() {} }), 'work', {});
  Saga(options as SagaOptions)(saga);
  return saga;
}

function node(saga: Type, step: string, defaults?: DefaultPolicies): StepNode {
  return buildSagaGraph(saga, defaults).steps.get(step)!;
}

/** Rows of a value as people read it, and the value. */
function shown(...values: unknown[]): [string, unknown][] {
  return values.map((value) => [inspect(value), value]);
}

describe('the graph of a saga', () => {
  it('has its steps in the order of their declaration, each after the one before', () => {
    const { steps } = buildSagaGraph(PlaceOrderSaga);
    expect([...steps.keys()]).toEqual(['reserveStock', 'chargeCard', 'ship']);
    expect([...steps.values()].map(({ after }) => after)).toEqual([[], ['reserveStock'], ['chargeCard']]);
    expect([...steps.values()].map(({ dependents }) => dependents)).toEqual([['chargeCard'], ['ship'], []]);
  });

  it('holds what the decorators say', () => {
    expect(node(PlaceOrderSaga, 'chargeCard')).toMatchObject({
      compensate: 'refund',
      timeout: 10_000,
      retry: { attempts: 5 },
      transactional: false,
      idempotent: true,
      compensateOnFailure: false,
    });
    const options = { compensate: 'undo', transactional: true, compensateOnFailure: true };
    expect(node(sagaWith(options), 'pay')).toMatchObject(options);
    expect(node(PlaceOrderSaga, 'ship')).toMatchObject({ idempotent: false, timeout: undefined });
  });

  it('cannot be changed', () => {
    const graph = buildSagaGraph(PlaceOrderSaga);
    expect(Object.isFrozen(graph)).toBe(true);
    expect([...graph.steps.values()].every(Object.isFrozen)).toBe(true);
  });

  it('is shown as name and version', () => {
    expect(sagaLabel(buildSagaGraph(named('Ship', { version: 2 })))).toBe('ship@2');
  });
});

describe('the name and version of a saga', () => {
  it.each([
    ['PlaceOrderSaga', 'place-order'],
    ['PlaceOrder', 'place-order'],
    ['Refund', 'refund'],
    ['SagaOfKings', 'saga-of-kings'],
    ['HTTPRequestSaga', 'http-request'],
    ['HTTPRequest2Saga', 'http-request2'],
    ['Order2ShipSaga', 'order2-ship'],
    ['SyncABTestSaga', 'sync-ab-test'],
    ['placeOrderSaga', 'place-order'],
  ])('of class %s are by default %s and 1', (className, expected) => {
    expect(buildSagaGraph(named(className))).toMatchObject({ name: expected, version: 1 });
  });

  it('may be given', () => {
    const options = { name: 'Orders / place', version: 7 };
    expect(buildSagaGraph(named('PlaceOrderSaga', options))).toMatchObject(options);
  });

  it.each(
    shown('', ' order', 'order ', 'x'.repeat(201), 'a\0b', 'a\nb', 'a\ud800', 7, 10n, {}, Symbol('order')),
  )('never are name %s', (_, name) => {
    expect(problemsOf(named('OrderSaga', { name }))).toMatch(/^OrderSaga: @Saga name .*give 1 to 200/);
  });

  it.each(shown(0, -1, 1.5, NaN, '2', 2 ** 31, 10n))('never are version %s', (_, version) => {
    expect(problemsOf(named('OrderSaga', { version }))).toMatch(/^OrderSaga: @Saga version .*whole number/);
  });

  it('must be said where the class has none', () => {
    expect(problemsOf(named('Saga'))).toContain("@Saga name ''");
    expect(buildSagaGraph(named('Saga', { name: 'order' })).name).toBe('order');
  });
});

describe('a saga that extends another class', () => {
  abstract class Order {
    @Step({ compensate: 'release' })
    reserve(): string {
      return 'base';
    }
    release() {}
    @Step({ timeout: '1s' })
    charge() {}
  }

  @Saga()
  class GiftOrderSaga extends Order {
    @Step()
    wrap() {}
    @Step({ compensate: 'unreserve', timeout: '2s' })
    override reserve() {
      return 'gift';
    }
    unreserve() {}
    override charge() {}
  }

  class UndecoratedSaga extends GiftOrderSaga {}

  it('has the steps of its base first', () => {
    expect([...buildSagaGraph(GiftOrderSaga).steps.keys()]).toEqual(['reserve', 'charge', 'wrap']);
  });

  it('may declare a step again, which keeps its place and takes the new options', () => {
    expect(node(GiftOrderSaga, 'reserve')).toMatchObject({
      compensate: 'unreserve',
      timeout: 2_000,
      after: [],
    });
  });

  it('may override a method without saying again that it is a step', () => {
    expect(node(GiftOrderSaga, 'charge')).toMatchObject({ timeout: 1_000, after: ['reserve'] });
  });

  it('changes nothing for the siblings of the class', () => {
    @Saga()
    class PlainOrderSaga extends Order {}
    expect([...buildSagaGraph(PlainOrderSaga).steps.keys()]).toEqual(['reserve', 'charge']);
    expect(node(PlainOrderSaga, 'reserve').compensate).toBe('release');
  });

  it('may be compensated by methods that it inherits', () => {
    @Saga()
    class RushOrderSaga extends Order {
      @Step({ compensate: 'release' })
      rush() {}
    }
    expect(node(RushOrderSaga, 'rush').compensate).toBe('release');
  });

  it('is a saga only if it says so itself', () => {
    expect(problemsOf(UndecoratedSaga)).toMatch(/^UndecoratedSaga: it is not a saga.*@Saga\(\)/);
  });
});

describe('the retry policy of a step', () => {
  const attempts = (saga: Type, step: string, defaults?: DefaultPolicies) => {
    const { retry, compensationRetry } = node(saga, step, defaults);
    return [retry.attempts, compensationRetry.attempts];
  };
  const policies = (retry: number, compensationRetry: number) => ({
    retry: { attempts: retry },
    compensationRetry: { attempts: compensationRetry },
  });

  it('is its own, or the saga’s, or the module’s, or 3 attempts and 10 for compensations', () => {
    const [step, saga, module] = [policies(4, 14), policies(5, 15), policies(6, 16)];
    expect(attempts(sagaWith({}), 'pay')).toEqual([3, 10]);
    expect(attempts(sagaWith({}), 'pay', module)).toEqual([6, 16]);
    expect(attempts(sagaWith({}, saga), 'pay', module)).toEqual([5, 15]);
    expect(attempts(sagaWith(step, saga), 'pay', module)).toEqual([4, 14]);
    expect(attempts(sagaWith(step, saga), 'book', module)).toEqual([5, 15]);
  });

  it('comes as a whole: what a nearer one leaves out is the default, not the farther one’s', () => {
    const saga = sagaWith({ retry: { attempts: 4 } }, { retry: { attempts: 5, delay: '7s' } });
    expect(node(saga, 'pay').retry).toMatchObject({ attempts: 4, delay: 200 });
  });

  it('is one attempt for an at-most-once step, whatever saga and module say', () => {
    const saga = sagaWith({ idempotent: false }, policies(5, 15));
    expect(attempts(saga, 'pay', policies(6, 16))).toEqual([1, 15]);
  });

  it('is its own for an at-most-once step that has one', () => {
    expect(attempts(sagaWith({ idempotent: false, retry: { attempts: 2 } }), 'pay')).toEqual([2, 10]);
  });
});

describe('a wrong definition', () => {
  it('names the class, the step and the compensation that it lacks, and what to do', () => {
    const message = problemsOf(sagaWith({ compensate: 'undoo' }));
    expect(message).toMatch(/^RefundSaga: step 'pay': compensate 'undoo' is not a method of RefundSaga/);
    expect(message).toMatch(/add the method, or name undo/);
    expect(message).not.toContain('name book');
  });

  it.each([['constructor'], ['toString'], ['hasOwnProperty'], ['']])(
    'is a compensation named %p, which the class does not declare',
    (compensate) => {
      expect(problemsOf(sagaWith({ compensate }))).toMatch(/step 'pay': compensate .*not a method/);
    },
  );

  it.each([['pay'], ['book']])('is a compensation that is itself a step: %s', (compensate) => {
    expect(problemsOf(sagaWith({ compensate }))).toMatch(
      new RegExp(`^RefundSaga: step 'pay': compensate '${compensate}' is itself a step`),
    );
  });

  it('is a compensation that is no method, and its getter is not called', () => {
    @Saga()
    class GetterSaga {
      @Step({ compensate: 'undo' })
      pay() {}
      get undo(): () => void {
        throw new Error('called');
      }
    }
    expect(problemsOf(GetterSaga)).toMatch(/step 'pay': compensate 'undo' is not a method/);
  });

  it('is a class without steps', () => {
    @Saga()
    class EmptySaga {}
    expect(problemsOf(EmptySaga)).toMatch(/^EmptySaga: it has no steps.*@Step\(\)/);
  });

  it('is a class without @Saga', () => {
    class Plain {
      @Step()
      pay() {}
    }
    expect(problemsOf(Plain)).toMatch(/^Plain: it is not a saga.*@Saga\(\)/);
  });

  it('is a static method as a step', () => {
    @Saga()
    class StaticSaga {
      @Step()
      static pay() {}
      @Step()
      book() {}
    }
    expect(problemsOf(StaticSaga)).toMatch(/^StaticSaga: step 'pay': it is static/);
  });

  it('is a property as a step', () => {
    class PropertySaga {
      pay = () => {};
    }
    Step()(PropertySaga.prototype, 'pay', {});
    Saga()(PropertySaga);
    expect(problemsOf(PropertySaga)).toMatch(/^PropertySaga: step 'pay': @Step can only decorate a method/);
  });

  it.each(shown('a:compensate', 'a[3]', 'a~2', 'a b', 'a\0'))(
    'is a step named %s, which would make idempotency keys ambiguous',
    (_, given) => {
      const [saga, name] = [named('OddSaga'), given as string];
      Step()(Object.assign(saga.prototype, { [name]() {} }), name, {});
      expect(problemsOf(saga)).toMatch(/^OddSaga: step 'a.*idempotency keys/);
    },
  );

  it.each<[string, object, RegExp]>([
    ['a timeout that is no duration', { timeout: 'soon' }, /timeout: 'soon' .*'10s'/],
    ['a timeout of 0', { timeout: 0 }, /timeout 0 would fail every attempt; remove the option/],
    ['a timeout of 0 in words', { timeout: '0s' }, /timeout 0 would fail every attempt; remove the option/],
    ['a timeout that no timer can wait for', { timeout: '25d' }, /timeout: '25d' .*0 to 2147483647/],
    ['a negative timeout', { timeout: -1 }, /timeout: -1/],
    ['no attempt', { retry: { attempts: 0 } }, /retry\.attempts is 0; give a whole number/],
    ['a wrong delay', { compensationRetry: { attempts: 1, delay: 'x' } }, /compensationRetry\.delay: 'x'/],
    [
      'an unknown option',
      { compensat: 'undo' },
      /@Step has the unknown option 'compensat'. Did you mean 'compensate'\?/,
    ],
    [
      'an unknown retry option',
      { retry: { attempts: 1, max: 1 } },
      /unknown option 'retry.max'. The options are: attempts, /,
    ],
    ['compensateOnFailure with nothing to do', { compensateOnFailure: true }, /name one with compensate/],
    ['at most once and transactional', { transactional: true, idempotent: false }, /remove idempotent/],
  ])('of a step is %s', (_, options, fix) => {
    const message = problemsOf(sagaWith(options));
    expect(message).toMatch(/^RefundSaga: step 'pay': /);
    expect(message).toMatch(fix);
  });

  it('of the saga’s options is told once, and as the saga’s', () => {
    const message = problemsOf(sagaWith({}, { retry: { attempts: 0 }, retries: 3 }));
    expect(message).toMatch(/@Saga has the unknown option 'retries'. The options are: name, version, /);
    expect(message.match(/@Saga retry\.attempts is 0/g)).toHaveLength(1);
    expect(message).not.toContain("step '");
  });

  it('of the module’s policies is told as the module’s', () => {
    const message = problemsOf(sagaWith({}), { compensationRetry: { attempts: 0 } });
    expect(message).toMatch(/^RefundSaga: SagaModule compensationRetry\.attempts is 0/);
  });

  it('shows all that is wrong at once', () => {
    const wrong = {
      compensate: 'nothing',
      timeout: 'soon',
      retry: { attempts: 0, delay: 'late' },
      compensationRetry: { attempts: 1, jitter: 5 },
      wen: true,
    };
    const message = problemsOf(sagaWith(wrong, { version: 0, compensationRetry: { attempts: -1 } }));
    for (const problem of [
      /@Saga version 0/,
      /@Saga compensationRetry\.attempts is -1/,
      /step 'pay': compensate 'nothing'/,
      /step 'pay': timeout: 'soon'/,
      /step 'pay': retry\.delay: 'late'/,
      /retry\.attempts is 0/,
      /step 'pay': compensationRetry\.jitter is 5/,
      /step 'pay': @Step has the unknown option 'wen'. Did you mean 'when'\?/,
    ]) {
      expect(message).toMatch(problem);
    }
    expect(message).not.toContain('..');
  });
});

describe('the analysis of a saga', () => {
  it('finds nothing wrong with a right one', () => {
    expect(analyzeSaga(PlaceOrderSaga)).toEqual([]);
  });

  it('says of each finding which step it is about, what is wrong and the fix', () => {
    expect(
      analyzeSaga(sagaOf({ pay: { retry: { attempts: 0 } }, book: { after: 'x' } }, { version: 0 })),
    ).toEqual([
      { problem: '@Saga version 0 cannot be used', fix: 'give a whole number from 1', severity: 'error' },
      {
        step: 'pay',
        problem: 'retry.attempts is 0',
        fix: 'give a whole number from 1 to 2147483647',
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
