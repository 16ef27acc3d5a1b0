import {
  type CompensationContext,
  Saga,
  Step,
  StepRejectedError,
  type StepContext,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { aborted, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
let ran: string[];
let asked: [number, string][];
beforeEach(() => ([ran, asked] = [[], []]));

const policy = { attempts: 3, delay: 1, backoff: 'fixed', jitter: 0 } as const;

@Saga({ name: 'slow-refund', compensationRetry: policy })
class SlowRefundSaga {
  @WaitFor({ signal: 'paid', compensate: 'payBack', compensationTimeout: 20 }) paid() {
    return 'p';
  }
  async payBack(ctx: CompensationContext<unknown, string>) {
    ran.push(`payBack ${ctx.attempt}`);
    if (ctx.attempt === 1) throw await aborted(ctx.signal);
  }
  @Step({ timeout: 20, compensate: 'release', compensationTimeout: '10s' }) reserve() {
    return 'r';
  }
  async release(ctx: CompensationContext<unknown, string>) {
    await new Promise((resolve) => setTimeout(resolve, 60));
    ran.push(`release ${ctx.attempt}, ${ctx.signal.aborted ? 'aborted' : 'in time'}`);
  }
  @Step() fail() {
    throw new StepRejectedError('no');
  }
}

class Busy extends Error {}

@Saga({ name: 'asked-for' })
class AskedForSaga {
  @Step({
    retry: {
      attempts: 4,
      backoff: (attempt, error) => {
        asked.push([attempt, (error as Error).name]);
        if (attempt === 1) return '1ms';
        if (attempt === 2) throw new Error('a mistake');
        return '1h';
      },
    },
  })
  pay({ attempt }: StepContext) {
    ran.push(`pay ${attempt}`);
    const error = new Busy('later');
    error.name = 'Busy';
    throw error;
  }
}

const sagas = [SlowRefundSaga, AskedForSaga];

test('a compensation has its own time: one that hangs is tried again, and a slow one is not cut off', async () => {
  const { sagas: service } = await apps.start({ sagas });
  const { id, outcome } = await service.start(SlowRefundSaga, {});
  await service.signal(id, 'paid');
  expect((await outcome()).status).toBe('compensated');
  expect(ran).toEqual(['release 1, in time', 'payBack 1', 'payBack 2']);
  const { steps } = await service.get(id);
  expect(steps.find(({ name }) => name === 'paid')?.errors).toMatchObject([
    {
      during: 'compensation',
      message: "The compensation of step 'paid' ran longer than its timeout of 20 ms",
    },
  ]);
});

test('a back-off that is a function is asked for each delay, and the default applies where it fails', async () => {
  const { sagas: service } = await apps.start({ sagas });
  const { id } = await service.start(AskedForSaga, {});
  await until(() => ran.length === 3);
  await until(async () => (await service.get(id)).waitingFor?.kind === 'retry' && asked.length === 3);
  expect(asked).toEqual([
    [1, 'Busy'],
    [2, 'Busy'],
    [3, 'Busy'],
  ]);
  const { waitingFor } = await service.get(id);
  const at = waitingFor?.kind === 'retry' ? waitingFor.at.getTime() : 0;
  expect(at - Date.now()).toBeGreaterThan(3_590_000);
  expect(at - Date.now()).toBeLessThanOrEqual(3_600_000);
});
