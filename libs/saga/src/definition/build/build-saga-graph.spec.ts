import type { Type } from '@nestjs/common';
import { buildSagaGraph, type DefaultPolicies } from './build-saga-graph.js';
import {
  PlaceOrderSaga,
  problemsOf,
  sagaNamed,
  sagaWith,
  rowsOf,
} from '../../../../../test/fixtures/saga-of.js';
import { sagaLabel, type StepNode } from '../graph/saga-graph.js';
import { Saga } from '../decorators/saga.decorator.js';
import { Step } from '../decorators/step.decorator.js';

function node(saga: Type, step: string, defaults?: DefaultPolicies): StepNode {
  return buildSagaGraph(saga, defaults).steps.get(step)!;
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
    expect(sagaLabel(buildSagaGraph(sagaNamed('Ship', { version: 2 })))).toBe('ship@2');
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
    expect(buildSagaGraph(sagaNamed(className))).toMatchObject({ name: expected, version: 1 });
  });

  it('may be given', () => {
    const options = { name: 'Orders / place', version: 7 };
    expect(buildSagaGraph(sagaNamed('PlaceOrderSaga', options))).toMatchObject(options);
  });

  it.each(
    rowsOf('', ' order', 'order ', 'x'.repeat(201), 'a\0b', 'a\nb', 'a\ud800', 7, 10n, {}, Symbol('order')),
  )('never are name %s', (_, name) => {
    expect(problemsOf(sagaNamed('OrderSaga', { name }))).toMatch(/^OrderSaga: @Saga name .*give 1 to 200/);
  });

  it.each(rowsOf(0, -1, 1.5, NaN, '2', 2 ** 31, 10n))('never are version %s', (_, version) => {
    expect(problemsOf(sagaNamed('OrderSaga', { version }))).toMatch(
      /^OrderSaga: @Saga version .*whole number/,
    );
  });

  it('must be said where the class has none', () => {
    expect(problemsOf(sagaNamed('Saga'))).toContain("@Saga name ''");
    expect(buildSagaGraph(sagaNamed('Saga', { name: 'order' })).name).toBe('order');
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

  it('may declare a step again, which keeps its position and takes the new options', () => {
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
