import type { SagaService } from 'nestjs-durable-saga';
import { SagaTest } from 'nestjs-durable-saga/testing';
import { until } from '../../../test/support/gate.js';
import {
  Accounts,
  AppointmentSaga,
  Billing,
  move,
  RenewalSaga,
  SubscriptionModule,
  Subscriptions,
  TrialSaga,
} from './long-timers.js';
import { RecipeApps } from './recipe-apps.js';

const DAY = 86_400_000;

describe('a trial', () => {
  const trial = SagaTest.of(TrialSaga).providers(Accounts);
  const input = { account: 'ada' };
  const mails = (published: readonly { type?: string }[]) => published.map(({ type }) => type);

  test('ends with the account closed when nobody pays, after a reminder', async () => {
    const run = await trial.run(input);
    expect(run.outcome.failure?.kind).toBe('timeout');
    expect(run.took).toBe(14 * DAY);
    expect(run.trace).toEqual(['open', 'remind', 'close']);
    expect(mails(run.published)).toEqual(['trial-ends-soon']);
  });

  test('has no reminder for who has paid before', async () => {
    const run = await trial.start(input);
    await run.advance('3d');
    await run.signal('paid', { plan: 'large' });
    await run.finish();
    expect(run.outcome.status).toBe('completed');
    expect(mails(run.published)).toEqual(['welcome']);
    // The step that waits for its ten days is a step like any other: the saga is there until then.
    expect(run.took).toBe(10 * DAY);
  });

  test('can be paid after the reminder', async () => {
    const run = await trial.start(input);
    await run.advance('11d');
    await run.signal('paid', { plan: 'small' });
    await run.finish();
    expect(mails(run.published)).toEqual(['trial-ends-soon', 'welcome']);
  });
});

describe('a subscription', () => {
  const apps = RecipeApps.onOwnDatabase();
  const open = () => apps.start({ module: { imports: [SubscriptionModule] } });
  const renewal = (period: number, subscription = 's-1') => ({
    saga: RenewalSaga,
    correlationId: `${subscription}/${period}`,
  });

  test('plans each period once, whatever fails, also without a database', async () => {
    const subscription = SagaTest.of(RenewalSaga)
      .providers(Billing)
      .manager({ query: async () => [] });
    const first = { subscription: 's-1', period: 1, due: '2026-01-15T00:00:00.000Z' };
    const report = await subscription.everyFailure(first, async ({ outcome, sagas, id }) => {
      const { items } = await sagas.find({ saga: RenewalSaga });
      const planned = items.filter((one) => one.id !== id).map(({ correlationId }) => correlationId);
      if (outcome.status === 'completed') expect(planned).toEqual(['s-1/2']);
    });
    expect(report.points.length).toBeGreaterThan(8);
  });

  test('is charged when a period is due, and plans the next one a month later', async () => {
    const { sagas, nest } = await open();
    await nest.get(Subscriptions).begin('s-1', new Date('2026-01-15T00:00:00Z'));
    await sagas.wait(renewal(1), { timeout: '10s' });
    const next = await sagas.get(renewal(2));
    expect(next.input).toEqual({ subscription: 's-1', period: 2, due: '2026-02-15T00:00:00.000Z' });
  });

  test('waits for a date months ahead without anybody holding it, and through a restart', async () => {
    const due = new Date(Date.now() + 60 * DAY);
    const { nest } = await open();
    await nest.get(Subscriptions).begin('s-2', due);
    await apps.close();
    const { sagas } = await open();
    const { waitingFor, lockedBy } = await sagas.get(renewal(1, 's-2'));
    expect(waitingFor).toEqual({ kind: 'delay', until: due });
    expect(lockedBy).toBeUndefined();
  });

  test('is charged for nothing once it has ended', async () => {
    const { sagas, nest } = await open();
    const charged = chargesOf(nest.get(Billing));
    await nest.get(Subscriptions).begin('s-3', new Date(Date.now() + 60 * DAY));
    await nest.get(Subscriptions).end('s-3', 'ada');
    await until(async () => (await sagas.get(renewal(1, 's-3'))).status === 'compensated');
    expect(charged).not.toContain('s-3');
  });
});

/** What is charged from now on. */
function chargesOf(billing: Billing): string[] {
  const charged: string[] = [];
  billing.charge = async ({ subscription }) => {
    charged.push(subscription);
    return { invoice: 'invoice-1' };
  };
  return charged;
}

describe('an appointment', () => {
  const apps = RecipeApps.onOwnDatabase();
  const DATE = Date.UTC(2026, 0, 11);

  test('is reminded of a day before its date, and thanked for at its date', async () => {
    const input = { customer: 'ada', at: new Date(DATE).toISOString() };
    const run = await SagaTest.of(AppointmentSaga).start(input);
    expect(run.published.map(({ type }) => type)).toEqual(['appointment-tomorrow', 'thank-you']);
    expect(run.took).toBe(10 * DAY);
    expect(run.snapshot.slaAt).toEqual(new Date(DATE + DAY));
  });

  test('that is soon is reminded of at once', async () => {
    const run = await SagaTest.of(AppointmentSaga).run({ customer: 'ada', at: '2026-01-01T12:00:00Z' });
    expect(run.took).toBe(DAY / 2);
  });

  test('that moves is reminded of a day before its new date, once', async () => {
    const input = { customer: 'ada', at: new Date(Date.now() + 10 * DAY).toISOString() };
    const { sagas, operations } = await apps.start({ module: { providers: [AppointmentSaga] } });
    const { id } = await sagas.start(AppointmentSaga, input);
    await waitsFor(sagas, id, 'remind');
    const moved = new Date(Date.now() + 20 * DAY);
    await move(sagas, operations, id, moved, 'ada');
    await waitsFor(sagas, id, 'remind');
    const { waitingFor } = await sagas.get(id);
    expect(waitingFor).toMatchObject({ until: new Date(moved.getTime() - DAY) });
    // Once the customer knows, only the thank-you moves.
    await operations.resolve(id, 'remind', { by: 'ada', reason: 'told by telephone' });
    await waitsFor(sagas, id, 'thank');
    await move(sagas, operations, id, moved, 'ada');
    await waitsFor(sagas, id, 'thank');
    expect((await sagas.get(id)).waitingFor).toMatchObject({ step: 'thank', until: moved });
  });
});

async function waitsFor(sagas: SagaService, id: string, step: string): Promise<void> {
  await until(async () => {
    const { waitingFor } = await sagas.get(id);
    return waitingFor?.kind === 'delay' && waitingFor.step === step;
  });
}
