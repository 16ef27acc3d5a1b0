import {
  RemoteStep,
  Saga,
  Step,
  type StepContext,
  StepHandler,
  SubSaga,
  type CompensationContext,
} from '../../libs/saga/src/index.js';
import type { Shown } from './support/admin-client.js';
import { AdminApps } from './support/admin-apps.js';

const apps = AdminApps.onOwnDatabase();
const ONCE = { attempts: 1 };
const SECRET = '4111 1111 1111 1111';
const CARD = { number: SECRET, holder: 'Ada' };

/** Nothing of the admin's answers may hold what is secret. */
async function expectHidden(client: { get(path: string): Promise<{ body: unknown }> }, id: string) {
  for (const part of ['', '/rollback', '/history', '/graph'])
    expect(JSON.stringify((await client.get(`/api/sagas/${id}${part}`)).body)).not.toContain(SECRET);
  expect(JSON.stringify((await client.get('/api/sagas')).body)).not.toContain(SECRET);
}

@Saga({
  name: 'charge',
  redact: ['card.number', 'token', 'lines.*.pin'],
  retry: ONCE,
  compensationRetry: ONCE,
})
class Charge {
  @Step({ compensate: 'undo' }) authorize(ctx: StepContext<object>) {
    return { card: (ctx.input as { card: object }).card, token: SECRET, reference: 'r1' };
  }
  undo(_: CompensationContext<object>) {
    throw new Error('not today');
  }
  @Step({ forEach: () => [{ pin: SECRET }], compensate: 'undoEach' }) each() {
    return { token: SECRET, n: 1 };
  }
  undoEach() {
    throw new Error('nor this');
  }
  @Step() fail(): void {
    throw new Error('declined');
  }
}

@Saga({ name: 'order' })
class Order {
  @SubSaga(() => Payment) pay() {
    return { card: CARD };
  }
  @RemoteStep('admin.vault', { version: 1 }) vault(): unknown {
    return { token: SECRET };
  }
}

@Saga({ name: 'payment', redact: ['card.number', 'token'] })
class Payment {
  @Step() take() {
    return { token: SECRET, paid: true };
  }
}

class Vault {
  @StepHandler('admin.vault', { redact: ['token', 'receipt'] }) store(): unknown {
    return { receipt: SECRET, stored: true };
  }
}

test('fields of the input and of every result are not shown: in steps, items, nor in what would be undone', async () => {
  const { sagas, client } = await apps.start({ sagas: [Charge] });
  const lines = [{ pin: SECRET, sku: 'desk' }];
  const handle = await sagas.start(Charge, { card: CARD, lines });
  expect((await handle.outcome()).status).toBe('stuck');
  await expectHidden(client, handle.id);
  const { body } = await client.get(`/api/sagas/${handle.id}`);
  expect(body.input).toEqual({
    card: { number: '[redacted]', holder: 'Ada' },
    lines: [{ pin: '[redacted]', sku: 'desk' }],
  });
  const [authorize, each] = body.steps;
  expect(authorize.result).toEqual({
    card: { number: '[redacted]', holder: 'Ada' },
    token: '[redacted]',
    reference: 'r1',
  });
  expect(each.items[0].result).toEqual({ token: '[redacted]', n: 1 });
  const plan = await client.get(`/api/sagas/${handle.id}/rollback`);
  expect(plan.body.compensations.length).toBeGreaterThan(0);
});

test('fields of the input that a saga was started with are hidden beside those of another', async () => {
  const { sagas, operations, client } = await apps.start({ sagas: [Charge] });
  const handle = await sagas.start(Charge, { card: CARD });
  await handle.outcome();
  await operations.retry(handle.id, { input: { token: SECRET } });
  await handle.outcome();
  await expectHidden(client, handle.id);
  expect((await client.get(`/api/sagas/${handle.id}`)).body).toMatchObject({
    input: { token: '[redacted]' },
    startedInput: { card: { number: '[redacted]', holder: 'Ada' } },
  });
  const other = await apps.start();
  const { body } = await other.client.get(`/api/sagas/${handle.id}`);
  expect(body).not.toHaveProperty('startedInput');
});

test('an input that is corrected as it is shown keeps the values that are redacted in it', async () => {
  const { sagas, client } = await apps.start({ sagas: [Charge] });
  const handle = await sagas.start(Charge, { card: CARD, note: 'Ada' });
  await handle.outcome();
  const { body } = await client.get(`/api/sagas/${handle.id}`);
  const { input } = body as { input: object };
  const retry = (given: object) =>
    client.post(`/api/sagas/${handle.id}/retry`, { input: given, reason: 'typo' });
  expect((await retry({ ...input, note: 'Grace' })).body).toEqual({ done: true });
  await handle.outcome();
  expect((await sagas.get(handle.id)).input).toEqual({ card: CARD, note: 'Grace' });
  expect((await retry({ ...input, token: '[redacted]' })).body).toMatchObject({
    code: 'SAGA_VALIDATION',
    message: "retry(): input.token is '[redacted]', and no stored value belongs to it. Give the value.",
  });
});

test('what a child or a handler hides is hidden in the saga that started it, too', async () => {
  const { sagas, client } = await apps.start({ sagas: [Order, Payment], providers: [Vault] });
  const order = await sagas.start(Order, {});
  expect((await order.outcome()).status).toBe('completed');
  const { items } = await client.list();
  expect(items).toHaveLength(3);
  for (const { id } of items) await expectHidden(client, id);
  const { steps } = await client.one(order.id);
  expect(steps.map(({ result }) => result)).toEqual([
    { take: { token: '[redacted]', paid: true } },
    { receipt: '[redacted]', stored: true },
  ]);
});

test('of a saga that this process does not have no payload is shown, and why is said', async () => {
  const other = await apps.start({ sagas: [Charge] });
  const handle = await other.sagas.start(Charge, { card: CARD });
  await handle.outcome();
  const { client } = await apps.start();
  await expectHidden(client, handle.id);
  const { body } = await client.get(`/api/sagas/${handle.id}`);
  expect(body.payloads).toEqual({
    shown: false,
    why: expect.stringMatching(/does not have charge@1, and therefore cannot redact/),
  });
  expect(body).not.toHaveProperty('input');
  expect((body as Shown).steps.every((step) => !('result' in step))).toBe(true);
});
