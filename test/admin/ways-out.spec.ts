import { Saga, Step, type StepContext } from '../../libs/saga/src/index.js';
import { until } from '../support/gate.js';
import { AdminApps } from './support/admin-apps.js';

const apps = AdminApps.onOwnDatabase();
/** Methods hang when the application is closed. */
const IMPATIENT = { worker: { shutdownTimeout: 50 } };
let calls: string[];
beforeEach(() => (calls = []));

@Saga({ name: 'hanging', retry: { attempts: 2, delay: '1h' } })
class Hanging {
  @Step() pay({ attempt, input }: StepContext<{ fails?: boolean }>): Promise<string> | string {
    calls.push(`pay ${attempt}`);
    if (input.fails && attempt === 1) throw new Error('down');
    return attempt === 1 ? new Promise(() => {}) : 'paid';
  }
  @Step() ship() {
    calls.push('ship');
  }
}

interface Action {
  readonly kind: string;
}

async function started(input: { fails?: boolean }) {
  const { sagas, operations, client } = await apps.start({ sagas: [Hanging], options: IMPATIENT });
  const { id, outcome } = await sagas.start(Hanging, input);
  await until(() => calls.includes('pay 1'));
  const actions = async () => (await client.get(`/api/sagas/${id}`)).body.actions as Action[];
  const post = (action: string, body: object) => client.post(`/api/sagas/${id}/${action}`, body);
  return { sagas, operations, id, outcome, actions, post };
}

describe('an attempt that hangs', () => {
  test('is offered to be abandoned, and then to be made again at once', async () => {
    const { sagas, operations, id, outcome, actions, post } = await started({});
    expect(await actions()).toEqual(
      expect.arrayContaining([
        { kind: 'resolve', steps: ['pay'] },
        { kind: 'abandon', steps: ['pay'] },
      ]),
    );
    const body = { step: 'pay', by: 'ann', reason: 'it hangs' };
    expect((await post('abandon', body)).body).toEqual({ done: true });
    await until(async () => (await sagas.get(id)).waitingFor?.kind === 'retry');
    expect(await actions()).toEqual(expect.arrayContaining([{ kind: 'retryNow', steps: ['pay'] }]));
    expect(await actions()).toEqual(expect.arrayContaining([{ kind: 'reschedule', steps: ['pay'] }]));
    const at = '2030-01-01T00:00:00.000Z';
    expect((await post('reschedule', { step: 'pay', at, by: 'ann' })).body).toEqual({ done: true });
    await until(async () => {
      const { waitingFor } = await sagas.get(id);
      return waitingFor?.kind === 'retry' && waitingFor.at.toISOString() === at;
    });
    expect((await post('reschedule', { step: 'pay', at: 'soon' })).status).toBe(400);
    expect((await post('retryNow', {})).body).toEqual({ done: true });
    expect((await outcome()).results).toEqual({ pay: 'paid' });
    expect(await operations.history(id)).toMatchObject([
      { action: 'abandon', by: 'ann', reason: 'it hangs', step: 'pay' },
      { action: 'reschedule', by: 'ann', step: 'pay', to: at },
      { action: 'retryNow' },
    ]);
  });

  test('can be taken as done elsewhere, with its result', async () => {
    const { outcome, post } = await started({});
    expect((await post('resolve', { step: 'pay', result: 'cash' })).body).toEqual({ done: true });
    expect((await outcome()).results).toEqual({ pay: 'cash' });
  });

  test('refuses a cancellation unless it has begun', async () => {
    const { post } = await started({});
    const refused = await post('cancel', { unlessBegun: 'pay' });
    expect([refused.status, refused.body]).toMatchObject([409, { code: 'SAGA_STATE' }]);
    expect((await post('cancel', { unlessBegun: 'ship' })).body).toEqual({ done: true });
  });

  test.each([
    ['abandon', { step: 'ship' }, 409, 'SAGA_STATE'],
    ['abandon', { step: 'pay', force: 'yes' }, 400, 'SAGA_VALIDATION'],
    ['resolve', { step: 'ship' }, 409, 'SAGA_STATE'],
    ['resolve', { step: 'pay', resul: 1 }, 400, 'SAGA_VALIDATION'],
    ['retryNow', {}, 409, 'SAGA_STATE'],
    ['retry', { now: 1 }, 400, 'SAGA_VALIDATION'],
  ])('is left alone by %s with %j', async (action, body, status, code) => {
    const { sagas, id, post } = await started({});
    const refused = await post(action, body);
    expect([refused.status, refused.body]).toMatchObject([status, { code }]);
    expect((await sagas.get(id)).status).toBe('running');
  });
});
