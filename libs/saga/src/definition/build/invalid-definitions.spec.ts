import { problemsOf, sagaNamed, sagaWith, rowsOf } from '../../../../../test/fixtures/saga-of.js';
import { buildSagaGraph } from './build-saga-graph.js';
import { Saga } from '../decorators/saga.decorator.js';
import { Step } from '../decorators/step.decorator.js';

test('methods that are generators are refused, since a call of one runs nothing', () => {
  class OrderSaga {
    async *charge() {
      yield await Promise.resolve(1);
    }
    *refund() {
      yield 1;
    }
    async *isCharged() {
      yield await Promise.resolve(1);
    }
    ship() {}
  }
  Saga()(OrderSaga);
  const charge = { method: 'charge', options: { compensate: 'refund', probe: 'isCharged' } } as const;
  Step(charge.options as never)(OrderSaga.prototype, charge.method as never, {});
  Step()(OrderSaga.prototype, 'ship', {});
  expect(() => buildSagaGraph(OrderSaga)).toThrow(
    /it is a generator, .*remove the \*.*compensate 'refund' is a generator.*probe 'isCharged' is a generator/s,
  );
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

  it.each(rowsOf('a:compensate', 'a[3]', 'a~2', 'a b', 'a\0'))(
    'is a step named %s, which would make idempotency keys ambiguous',
    (_, given) => {
      const [saga, name] = [sagaNamed('OddSaga'), given as string];
      Step()(Object.assign(saga.prototype, { [name]() {} }), name, {});
      expect(problemsOf(saga)).toMatch(/^OddSaga: step 'a.*idempotency keys/);
    },
  );

  it.each<[string, object, RegExp]>([
    ['a timeout that is no duration', { timeout: 'soon' }, /timeout: 'soon' .*'10s'/],
    ['a timeout of 0', { timeout: 0 }, /timeout 0 would fail every attempt; remove the option/],
    ['a timeout of 0 in words', { timeout: '0s' }, /timeout 0 would fail every attempt; remove the option/],
    [
      'a timeout that no timer can wait for',
      { timeout: '25d' },
      /timeout: '25d' is too long; give at most '24d'/,
    ],
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

  it('of the saga’s options is reported once, as the saga’s', () => {
    const message = problemsOf(sagaWith({}, { retry: { attempts: 0 }, retries: 3 }));
    expect(message).toMatch(/@Saga has the unknown option 'retries'. The options are: name, version, /);
    expect(message.match(/@Saga retry\.attempts is 0/g)).toHaveLength(1);
    expect(message).not.toContain("step '");
  });

  it('of the module’s policies is reported as the module’s', () => {
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
      /@Saga version is 0/,
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
