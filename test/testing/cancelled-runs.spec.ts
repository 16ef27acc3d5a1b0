import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  type TransactionalCompensationContext,
  type TransactionalStepContext,
  WaitFor,
} from '../../libs/saga/src/index.js';
import { SagaFailureMatrixError, SagaTest, type SagaTestRun } from '../../libs/saga/src/testing/index.js';

/** What the steps did, and was not undone. */
const done = new Set<string>();
beforeEach(() => done.clear());
const fresh = { beforeEach: () => done.clear() };

@Saga({ name: 'launch' })
class Launch {
  @Step({ compensate: 'drain' }) fuel() {
    done.add('fuel');
  }
  drain() {
    done.delete('fuel');
  }
  @Step({ pivot: true }) ignite() {
    done.add('fire');
  }
  @Step() announce() {
    done.add('news');
  }
}

describe('a saga is cancelled while a step runs:', () => {
  test('the step settles, and is compensated like the rest', async () => {
    const run = await SagaTest.of(Launch).cancelling('fuel').run({});
    expect(run.outcome).toMatchObject({ status: 'compensated', failure: { kind: 'cancelled' } });
    expect(run.trace).toEqual(['fuel', 'drain']);
    expect(run.refusedCancellations).toEqual([]);
    expect(done.size).toBe(0);
  });

  test('in a pivot it is refused, and the saga goes forward', async () => {
    const run = await SagaTest.of(Launch).cancelling('ignite').run({});
    expect(run.outcome.status).toBe('completed');
    expect(run.refusedCancellations).toEqual([expect.stringContaining("pivot 'ignite'")]);
    expect([...done]).toEqual(['fuel', 'fire', 'news']);
  });

  test('the signal of the step aborts', async () => {
    @Saga({ name: 'patient' })
    class Patient {
      @Step({ compensate: 'stop' }) async wait({ signal }: StepContext) {
        await new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      }
      stop() {}
    }
    const run = await SagaTest.of(Patient).cancelling('wait').run({});
    expect(run.outcome).toMatchObject({ status: 'compensated', failure: { kind: 'cancelled' } });
    expect(run.calls).toMatchObject([
      { method: 'wait', outcome: 'failed' },
      { method: 'stop', outcome: 'completed' },
    ]);
  });

  test('a transaction that commits all the same is compensated', async () => {
    @Saga({ name: 'booking' })
    class Booking {
      @Step({ transactional: true, compensate: 'unbook' }) async book(ctx: TransactionalStepContext<object>) {
        await ctx.manager.query('INSERT');
      }
      async unbook({ manager }: TransactionalCompensationContext<object, void>) {
        await manager.query('DELETE');
      }
    }
    const statements: string[] = [];
    const manager = { query: async (sql: string) => void statements.push(sql) };
    const run = await SagaTest.of(Booking).manager(manager).cancelling('book').run({});
    expect(run.outcome).toMatchObject({ status: 'compensated', failure: { kind: 'cancelled' } });
    expect(statements).toEqual(['INSERT', 'DELETE']);
  });

  test('a transactional pivot commits', async () => {
    @Saga({ name: 'final-booking' })
    class FinalBooking {
      @Step({ transactional: true, pivot: true }) async book(ctx: TransactionalStepContext<object>) {
        await ctx.manager.query('INSERT');
      }
    }
    const statements: string[] = [];
    const manager = { query: async (sql: string) => void statements.push(sql) };
    const run = await SagaTest.of(FinalBooking).manager(manager).cancelling('book').run({});
    expect(run.outcome.status).toBe('completed');
    expect(statements).toEqual(['INSERT']);
  });

  test('only in the saga that is tested, not in a sub-saga with a step of the same name', async () => {
    @Saga({ name: 'part' })
    class Part {
      @Step() make() {}
    }
    @Saga({ name: 'whole' })
    class Whole {
      @SubSaga(() => Part) parts() {
        return {};
      }
      @Step({ compensate: 'undo' }) make() {}
      undo() {}
    }
    const run = await SagaTest.of(Whole).cancelling('make').run({});
    expect(run.trace).toEqual(['parts', 'make', 'make', 'undo']);
    expect(run.calls.map(({ saga }) => saga)).toEqual(['whole', 'part', 'whole', 'whole']);
  });
});

describe('everyFailure() cancels the saga while each step runs', () => {
  const pointOf = (points: readonly { name: string }[], step: string) =>
    points.find(({ name }) => name === `cancelled while ${step} runs`);

  test('and records where that is refused: in a pivot, and after it', async () => {
    const { points } = await SagaTest.of(Launch).everyFailure({}, () => undefined, fresh);
    expect(pointOf(points, 'fuel')).toEqual({
      ...{ name: 'cancelled while fuel runs', kind: 'cancelled', method: 'fuel' },
      ...{ status: 'compensated', trace: ['fuel', 'drain'] },
    });
    expect(pointOf(points, 'ignite')).toMatchObject({
      status: 'completed',
      refusal: expect.stringContaining("pivot 'ignite'") as string,
    });
    expect(pointOf(points, 'announce')).toMatchObject({
      status: 'completed',
      refusal: expect.stringContaining('has passed its pivot') as string,
    });
  });

  test('and compensates nothing behind a pivot', async () => {
    const report = await SagaTest.of(Launch).everyFailure(
      {},
      ({ outcome }) => {
        if (done.has('fire') && outcome.status === 'completed') expect(done.has('fuel')).toBe(true);
      },
      fresh,
    );
    const behind = report.points.filter(({ refusal }) => refusal !== undefined);
    expect(behind.map(({ trace }) => trace.includes('drain'))).toEqual([false, false]);
    expect(String(report)).toContain(
      'cancelled while ignite runs: completed, cancel() refused (fuel → ignite → announce)',
    );
  });

  test('with what a wait was sent, and with the items of a fan-out', async () => {
    @Saga({ name: 'shapes' })
    class Shapes {
      @WaitFor({ signal: 'go', compensate: 'back' }) go() {
        done.add('go');
      }
      back() {
        done.delete('go');
      }
      @Step({ forEach: () => [1, 2, 3], compensate: 'remove' }) put({ index }: StepContext) {
        done.add(`item ${index}`);
      }
      remove({ index }: CompensationContext<object, void>) {
        done.delete(`item ${index}`);
      }
    }
    const report = await SagaTest.of(Shapes)
      .signal('go')
      .everyFailure(
        {},
        ({ outcome }) => {
          if (outcome.status === 'compensated') expect([...done]).toEqual([]);
        },
        fresh,
      );
    expect(pointOf(report.points, 'go')).toMatchObject({ status: 'compensated' });
    expect(pointOf(report.points, 'put')).toMatchObject({ status: 'compensated' });
  });

  const problemsOf = async <S>(saga: new () => S, check: (run: SagaTestRun<S>) => void) => {
    const error: unknown = await SagaTest.of(saga)
      .everyFailure({} as never, check, fresh)
      .catch((thrown: unknown) => thrown);
    const { points } = (error as SagaFailureMatrixError).report;
    return points.filter(({ problem }) => problem !== undefined).map(({ name }) => name);
  };

  test('which finds a step that takes an abort for "nothing was done"', async () => {
    @Saga({ name: 'paid-order' })
    class PaidOrder {
      @Step({ compensate: 'refund', timeout: '10s' }) async charge({ signal }: StepContext) {
        done.add('charge');
        await new Promise((resolve) => setImmediate(resolve));
        // The charge is made by now; a rejection says that it is not.
        if (signal.aborted) throw new StepRejectedError('the customer has left');
      }
      refund() {
        done.delete('charge');
      }
      @Step() ship() {}
    }
    const wrong = await problemsOf(PaidOrder, ({ outcome }) =>
      expect(done.size).toBe(outcome.status === 'completed' ? 1 : 0),
    );
    expect(wrong).toEqual(['cancelled while charge runs']);
  });

  test('which finds a compensation that behaves differently after a cancellation', async () => {
    @Saga({ name: 'trip' })
    class Trip {
      @Step({ compensate: 'refund' }) charge() {
        done.add('charge');
      }
      refund({ failure }: CompensationContext<object, void>) {
        if (failure.kind !== 'cancelled') done.delete('charge');
      }
      @Step() book() {}
    }
    const wrong = await problemsOf(Trip, ({ outcome }) =>
      expect(done.size).toBe(outcome.status === 'completed' ? 1 : 0),
    );
    expect(wrong).toEqual(['cancelled while charge runs', 'cancelled while book runs']);
  });
});
