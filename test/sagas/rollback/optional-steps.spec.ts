import {
  Approval,
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

/** Reset for each test: what has happened, and what the car's compensation waits for. */
let ran: string[];
let seen: unknown[];
let cancelling: Gate<void>;
let isDown: boolean;
beforeEach(() => {
  [ran, seen, isDown] = [[], [], false];
  cancelling = new Gate();
});

@Saga({ name: 'parcel', retry: { attempts: 1 } })
class ParcelSaga {
  @Step() send(): void {
    throw new StepRejectedError('no address');
  }
}

@Saga({ name: 'holiday', retry: { attempts: 1 } })
class HolidaySaga {
  @Step({ compensate: 'cancelFlight' }) flight() {
    ran.push('flight');
    return 'f';
  }
  cancelFlight(_: CompensationContext<unknown, string>) {
    ran.push('cancelFlight');
  }
  @Step({ onFailure: 'continue', compensate: 'cancelCar', timeout: 50, compensationTimeout: '1m' })
  async car({ input }: StepContext<{ car: 'hangs' | 'is refused' | 'comes' }>): Promise<string | undefined> {
    ran.push('car');
    if (input.car === 'is refused') throw new StepRejectedError('sold out');
    return input.car === 'comes' ? 'c' : new Promise(() => {});
  }
  async cancelCar({ result }: CompensationContext<unknown, string>) {
    await cancelling.opened;
    ran.push(`cancelCar of ${result}`);
  }
  @Step() tickets({ results }: StepContext<unknown, HolidaySaga>) {
    seen.push(results.car);
    ran.push('tickets');
  }
}

@Saga({ name: 'all-optional' })
class AllOptionalSaga {
  @WaitFor({ signal: 'never', timeout: 20, onFailure: 'continue' }) reply(_: StepContext, payload: number) {
    return payload;
  }
  @Approval({ onFailure: 'continue' }) approve(): string {
    return 'approved';
  }
  @SubSaga(() => ParcelSaga, { onFailure: 'continue' }) parcel() {
    return {};
  }
  @Step() last({ results }: StepContext<unknown, AllOptionalSaga>) {
    seen.push(Object.keys(results));
  }
}

@Saga({ name: 'tour', retry: { attempts: 1 } })
class TourSaga {
  @Step({
    onFailure: 'continue',
    compensateOnFailure: true,
    compensate: 'cancelBus',
    compensationRetry: { attempts: 1 },
  })
  bus(): void {
    throw new StepRejectedError('sold out');
  }
  cancelBus({ attempt }: CompensationContext) {
    ran.push(`cancelBus, attempt ${attempt}`);
    if (isDown) throw new Error('the bus company does not answer');
  }
  @WaitFor({ signal: 'departure' }) depart() {
    ran.push('depart');
  }
}

const sagas = [TourSaga, HolidaySaga, ParcelSaga, AllOptionalSaga];

describe('an optional step', () => {
  test('that is rejected leaves the saga to complete, without its result', async () => {
    const { sagas: service } = await apps.start({ sagas });
    const { id, outcome } = await service.start(HolidaySaga, { car: 'is refused' });
    expect(await outcome()).toEqual({ id, status: 'completed', results: { flight: 'f' } });
    expect(ran).toEqual(['flight', 'car', 'tickets']);
    expect(seen).toEqual([undefined]);
    const { steps } = await service.get(id);
    expect(steps.find(({ name }) => name === 'car')).toMatchObject({ status: 'failed', continued: true });
  });

  test('that timed out is compensated while the steps after it run, and before the saga completes', async () => {
    const { sagas: service } = await apps.start({ sagas });
    const { id, outcome } = await service.start(HolidaySaga, { car: 'hangs' });
    await until(async () => ran.includes('tickets'));
    expect((await service.get(id)).status).toBe('running');
    cancelling.open();
    expect((await outcome()).status).toBe('completed');
    expect(ran).toEqual(['flight', 'car', 'tickets', 'cancelCar of undefined']);
    const { steps } = await service.get(id);
    expect(steps.find(({ name }) => name === 'car')).toMatchObject({
      ...{ status: 'compensated', continued: true },
    });
  });

  test('is known to be dropped by the worker that takes the saga over', async () => {
    const first = await apps.start({ sagas, options: { worker: { shutdownTimeout: 50 } } });
    const { id } = await first.sagas.start(HolidaySaga, { car: 'hangs' });
    await until(async () => ran.includes('tickets'));
    await first.close();
    cancelling.open();
    const { sagas: service } = await apps.start({ sagas });
    expect((await service.wait(id)).status).toBe('completed');
    expect(ran.filter((step) => step === 'car')).toHaveLength(1);
  });

  test('that completed is compensated like any other when the saga is undone', async () => {
    cancelling.open();
    const { sagas: service, operations } = await apps.start({ sagas });
    const { id, outcome } = await service.start(HolidaySaga, { car: 'comes' });
    await outcome();
    await operations.undo(id);
    expect((await service.wait(id)).status).toBe('compensated');
    expect(ran.slice(3)).toEqual(['cancelCar of c', 'cancelFlight']);
  });

  test('may wait, need an approval, or be another saga', async () => {
    const { sagas: service } = await apps.start({ sagas });
    const { id, outcome } = await service.start(AllOptionalSaga, {});
    await until(async () => (await service.get(id)).waitingFor?.kind === 'approval');
    await service.reject(id, 'approve', { by: 'ada' });
    expect((await outcome()).status).toBe('completed');
    expect(seen).toEqual([[]]);
  });
});

describe('a compensation of an optional step that has failed permanently', () => {
  /** It waits for its signal, and could for weeks. */
  const failed = async () => {
    isDown = true;
    const app = await apps.start({ sagas });
    const { id, outcome } = await app.sagas.start(TourSaga, {});
    const bus = async () => (await app.sagas.get(id)).steps.find(({ name }) => name === 'bus')!.status;
    await until(async () => (await bus()) === 'compensation_failed');
    isDown = false;
    return { ...app, id, outcome, bus };
  };

  test.each([{ step: 'bus' }, {}])(
    'is tried again when an operator says so, while the saga goes on',
    async (given) => {
      const { sagas: service, operations, id, outcome, bus } = await failed();
      await operations.retry(id, { ...given, by: 'ada' });
      await until(async () => (await bus()) === 'compensated');
      expect(await service.get(id)).toMatchObject({ status: 'running', waitingFor: { kind: 'signal' } });
      await service.signal(id, 'departure');
      expect((await outcome()).status).toBe('completed');
      expect(ran.slice(-2)).toEqual(['cancelBus, attempt 2', 'depart']);
    },
  );

  test('is taken as done when an operator has done it', async () => {
    const { sagas: service, operations, id, outcome, bus } = await failed();
    const before = ran.length;
    await operations.resolve(id, 'bus', { by: 'ada', reason: 'cancelled by phone' });
    expect(await bus()).toBe('compensated');
    await service.signal(id, 'departure');
    expect((await outcome()).status).toBe('completed');
    expect(ran.slice(before)).toEqual(['depart']);
  });

  test('is not tried again with another input, nor is anything else of it', async () => {
    const { operations, id } = await failed();
    await expect(operations.retry(id, { input: {} })).rejects.toThrow(
      'cannot be retried with another input: it is running',
    );
    await expect(operations.retry(id, { step: 'depart' })).rejects.toThrow(
      'It has failed to compensate: bus',
    );
  });
});
