import {
  type CompensationContext,
  Saga,
  SagaStateError,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
} from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const ONCE = { attempts: 1 };

/** Reset for each test: what has happened, and what the pivot and its parallel branch wait for. */
let ran: string[];
let paying: Gate<AbortSignal>;
let pay: Gate<unknown>;
let pack: Gate<unknown>;
beforeEach(() => {
  ran = [];
  paying = new Gate();
  pay = new Gate();
  pack = new Gate();
});

abstract class Played {
  protected did(step: string): string {
    ran.push(step);
    return step;
  }
  protected async payAtGate({ signal }: StepContext): Promise<string> {
    paying.open(signal);
    const result = await pay.opened;
    if (result instanceof Error) throw result;
    return this.did('pay');
  }
}

@Saga({ name: 'booking', retry: ONCE })
class BookingSaga extends Played {
  @Step({ compensate: 'release' }) book() {
    return this.did('book');
  }
  release(_: CompensationContext<unknown, string>) {
    this.did('release');
  }
  @Step({ pivot: true }) pay(ctx: StepContext) {
    return this.payAtGate(ctx);
  }
  @Step() confirm() {
    return this.did('confirm');
  }
}

@Saga({ name: 'hurried', retry: ONCE, timeout: '2s' })
class HurriedSaga extends BookingSaga {}

@Saga({ name: 'forked', retry: ONCE })
class ForkedSaga extends Played {
  @Step({ compensate: 'release' }) book() {
    return this.did('book');
  }
  release(_: CompensationContext<unknown, string>) {
    this.did('release');
  }
  @Step({ after: 'book', pivot: true }) pay(ctx: StepContext) {
    return this.payAtGate(ctx);
  }
  @Step({ after: 'book' }) async pack() {
    await pack.opened;
    if (ran.includes('pack is refused')) return this.did('pack');
    this.did('pack is refused');
    throw new StepRejectedError('out of boxes');
  }
  @Step({ after: ['pay', 'pack'] }) ship() {
    return this.did('ship');
  }
}

@Saga({ name: 'tour', retry: ONCE })
class TourSaga extends Played {
  @Step({ compensate: 'freeSeat' }) seat() {
    return this.did('seat');
  }
  freeSeat(_: CompensationContext<unknown, string>) {
    this.did('freeSeat');
  }
  @SubSaga(() => BookingSaga, { pivot: true }) booking() {
    return {};
  }
  @Step() tell() {
    return this.did('tell');
  }
}

const sagas = [BookingSaga, HurriedSaga, ForkedSaga, TourSaga];

describe('while an attempt of a pivot is in progress', () => {
  test('cancel() is refused and names the step; the saga completes, and its signal does not abort', async () => {
    const { sagas: service } = await apps.start({ sagas });
    const booking = await service.start(BookingSaga, {});
    const signal = await paying.opened;
    const refused = service.cancel(booking.id, { reason: 'changed my mind' });
    await expect(refused).rejects.toThrow(SagaStateError);
    await expect(refused).rejects.toThrow(/pivot 'pay' is not known yet/);
    pay.open('paid');
    expect((await booking.outcome()).status).toBe('completed');
    expect(signal.aborted).toBe(false);
    expect(ran).toEqual(['book', 'pay', 'confirm']);
  });

  test('cancel() from another process is refused, too, and accepted once the attempt has failed', async () => {
    const retry = { attempts: 2, delay: '1h' } as const;
    @Saga({ name: 'patient', retry })
    class PatientSaga extends BookingSaga {}
    const { sagas: service } = await apps.start({ sagas: [PatientSaga] });
    const web = await apps.start({ sagas: [PatientSaga], options: { worker: false } });
    const { id, outcome } = await service.start(PatientSaga, {});
    await paying.opened;
    await expect(web.sagas.cancel(id)).rejects.toThrow(/'pay'/);
    expect((await web.operations.previewRollback(id)).undecided).toBe('pay');
    pay.open(new Error('connection refused'));
    await until(async () => (await service.get(id)).waitingFor?.kind === 'retry');
    await web.sagas.cancel(id);
    expect((await outcome()).status).toBe('compensated');
    expect(ran).toEqual(['book', 'release']);
  });

  test('a cancellation that had been accepted is decided by it: completed, the saga goes forward', async () => {
    const { sagas: service } = await apps.start({ sagas });
    const booking = await service.start(BookingSaga, {});
    await paying.opened;
    await requestCancel(booking.id);
    await until(async () => (await service.get(booking.id)).pendingRollback);
    expect(await service.get(booking.id)).toMatchObject({
      status: 'running',
      pendingRollback: { step: 'pay', failure: { kind: 'cancelled', reason: 'asked' } },
    });
    pay.open('paid');
    expect((await booking.outcome()).status).toBe('completed');
    expect(ran).toEqual(['book', 'pay', 'confirm']);
    expect((await service.get(booking.id)).overtaken).toEqual({
      ...{ kind: 'cancelled', reason: 'asked', step: 'pay' },
    });
  });

  test('the same failed: the saga is compensated', async () => {
    const { sagas: service } = await apps.start({ sagas });
    const booking = await service.start(BookingSaga, {});
    await paying.opened;
    await requestCancel(booking.id);
    await until(async () => (await service.get(booking.id)).pendingRollback);
    pay.open(new StepRejectedError('no funds'));
    expect(await booking.outcome()).toMatchObject({
      status: 'compensated',
      failure: { kind: 'cancelled', reason: 'asked' },
    });
    expect(ran).toEqual(['book', 'release']);
  });

  test('the deadline of the saga is decided by it, too', async () => {
    const { sagas: service } = await apps.start({ sagas });
    const hurried = await service.start(HurriedSaga, {});
    await paying.opened;
    await until(async () => (await service.get(hurried.id)).pendingRollback?.failure.kind === 'timeout');
    pay.open('paid');
    expect((await hurried.outcome()).status).toBe('completed');
    expect(ran).toEqual(['book', 'pay', 'confirm']);
  });

  test('the failure of another branch compensates nothing; behind the pivot an operator retries it', async () => {
    const { sagas: service, operations } = await apps.start({ sagas });
    const forked = await service.start(ForkedSaga, {});
    await paying.opened;
    pack.open('');
    await until(async () => (await service.get(forked.id)).pendingRollback);
    pay.open('paid');
    expect((await forked.outcome()).status).toBe('stuck');
    await operations.retry(forked.id);
    await until(async () => (await service.get(forked.id)).status === 'completed');
    expect(ran).toEqual(['book', 'pack is refused', 'pay', 'pack', 'ship']);
  });

  test('a worker that is lost with it: the next one runs it again, and it decides', async () => {
    const first = await apps.start({ sagas, options: { worker: { shutdownTimeout: 0 } } });
    const booking = await first.sagas.start(BookingSaga, {});
    await paying.opened;
    const web = await apps.start({ sagas, options: { worker: false } });
    await apps.sql(`UPDATE saga.instance SET locked_by = 'lost', epoch = 2, due_at = now(), rank_at = now()`);
    await expect(web.sagas.cancel(booking.id)).rejects.toThrow(/'pay'/);
    await requestCancel(booking.id);
    const second = await apps.start({ sagas });
    pay.open('paid');
    expect((await second.sagas.wait(booking.id)).status).toBe('completed');
    expect(ran.filter((step) => step !== 'pay')).toEqual(['book', 'confirm']);
  });
});

describe('a sub-saga that is a pivot', () => {
  test.each([
    ['completes', 'paid', 'completed', ['seat', 'book', 'pay', 'confirm', 'tell']],
    ['rolls back', new StepRejectedError('no funds'), 'compensated', ['seat', 'book', 'release', 'freeSeat']],
  ])('is asked to roll back by a cancellation, and decides: it %s', async (_, result, status, happened) => {
    const { sagas: service } = await apps.start({ sagas });
    const tour = await service.start(TourSaga, {});
    await paying.opened;
    await until(async () => (await service.get(tour.id)).waitingFor?.kind === 'sub-saga');
    await service.cancel(tour.id);
    const { items } = await service.find({ saga: BookingSaga });
    await until(async () => (await service.get(items[0]!.id)).pendingRollback);
    pay.open(result);
    expect((await tour.outcome()).status).toBe(status);
    expect(ran).toEqual(happened);
  });
});

/** As a call does that came just before the attempt began. */
async function requestCancel(id: string): Promise<void> {
  await apps.sql(
    `UPDATE saga.instance SET cancel_requested_at = now(), cancel_reason = 'asked' WHERE id = '${id}'`,
  );
  await apps.sql(`NOTIFY saga_wakeup, 'look:${id}'`);
}
