import {
  Approval,
  type CompensationContext,
  Saga,
  SagaStateError,
  Step,
  type StepContext,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { SagaTest } from '../../../libs/saga/src/testing/index.js';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

/** Reset for each test. */
let ran: string[];
let going: Gate<void>;
beforeEach(() => ([ran, going] = [[], new Gate()]));

@Saga({ name: 'visit', retry: { attempts: 3, delay: '30d', factor: 1 } })
class VisitSaga {
  @Step() book() {
    ran.push('book');
  }
  @Step({ delay: '9d' }) remind({ attempt }: StepContext) {
    ran.push(`remind ${attempt}`);
    if (attempt === 1) throw new Error('no mail server');
  }
  @WaitFor({ signal: 'came', timeout: '9d', compensate: 'charge' }) came() {}
  charge(_: CompensationContext<unknown, void>) {}
}

@Saga({ name: 'asked' })
class AskedSaga {
  @Approval({ after: [] }) decide() {}
  @Step({ after: [] }) async work() {
    ran.push('work');
    await going.opened;
  }
}

const sagas = [VisitSaga, AskedSaga];

test('moves the end of a delay, the next attempt and the end of a wait, and keeps who did it', async () => {
  const { sagas: service, operations } = await apps.start({ sagas });
  const { id, outcome } = await service.start(VisitSaga, {});
  const waitsFor = (kind: string) => until(async () => (await service.get(id)).waitingFor?.kind === kind);
  await waitsFor('delay');
  const later = new Date(Date.now() + 3 * 86_400_000);
  await operations.reschedule(id, 'remind', later, { by: 'ada', reason: 'moved' });
  await waitsFor('delay');
  expect((await service.get(id)).waitingFor).toEqual({ kind: 'delay', step: 'remind', until: later });
  // A time that is over means at once.
  await operations.reschedule(id, 'remind', new Date(0));
  await waitsFor('retry');
  await operations.reschedule(id, 'remind', 1);
  await waitsFor('signal');
  expect(ran).toEqual(['book', 'remind 1', 'remind 2']);
  await expect(operations.reschedule(id, 'remind', '1h')).rejects.toThrow(
    `Step 'remind' of saga ${id} cannot be rescheduled: it is completed, and waits for no time. It could be: came.`,
  );
  await operations.reschedule(id, 'came', '10ms');
  expect(await outcome()).toMatchObject({ status: 'compensated', failure: { kind: 'timeout' } });
  const history = await operations.history(id);
  expect(history).toMatchObject([
    { action: 'reschedule', step: 'remind', by: 'ada', reason: 'moved', to: later.toISOString() },
    { to: new Date(0).toISOString() },
    { to: '1 ms' },
    { step: 'came', to: '10 ms' },
  ]);
  await expect(operations.reschedule(id, 'came', '1h')).rejects.toThrow(SagaStateError);
});

test('gives a wait without a limit an end, but not while an attempt beside it is in progress', async () => {
  const { sagas: service, operations } = await apps.start({ sagas });
  const { id, outcome } = await service.start(AskedSaga, {});
  await until(() => ran.includes('work'));
  await expect(operations.reschedule(id, 'work', '1h')).rejects.toThrow(/an attempt is in progress/);
  await expect(operations.reschedule(id, 'decide', '1h')).rejects.toThrow(/attempts are in progress: work/);
  going.open();
  await until(async () => (await service.get(id)).lockedBy === undefined);
  await operations.reschedule(id, 'decide', 1);
  expect(await outcome()).toMatchObject({ status: 'compensated', failure: { kind: 'timeout' } });
  for (const at of ['soon', NaN, new Date(NaN), undefined, {}])
    await expect(operations.reschedule(id, 'decide', at as never)).rejects.toMatchObject({
      code: 'SAGA_VALIDATION',
    });
});

test('counts in the virtual time of SagaTest', async () => {
  const run = await SagaTest.of(VisitSaga).start({});
  expect(run.waitingFor).toMatchObject({ kind: 'signal' });
  expect(run.took).toBe(39 * 86_400_000);
});
