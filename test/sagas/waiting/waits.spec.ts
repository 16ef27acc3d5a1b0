import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { until } from '../../support/gate.js';
import { journal, Journalled } from '../../support/journalled.js';
import { type TestApp, TestApps } from '../../support/test-app.js';
import { waits } from '../../support/waits.js';

const apps = TestApps.onOwnDatabase();
/** Nothing here may be found by polling: what waits has to be woken. */
const NO_POLL = { worker: { pollInterval: '1h' } } as const;

describe('Signals of one name', () => {
  @Saga({ name: 'line' })
  class LineSaga {
    @WaitFor({ signal: 'next' }) first(_: StepContext, n: number) {
      return { n };
    }
    @WaitFor({ signal: 'next' }) second(_: StepContext, n: number) {
      return { n };
    }
    @WaitFor({ signal: 'next' }) third(_: StepContext, n: number) {
      return { n };
    }
  }

  test('are taken once each, in the order in which they came', async () => {
    const { sagas } = await apps.start({ sagas: [LineSaga] });
    const saga = await sagas.start(LineSaga, undefined);
    for (const n of [1, 2, 3]) await sagas.signal(saga.id, 'next', n);
    expect((await saga.outcome()).results).toEqual({ first: { n: 1 }, second: { n: 2 }, third: { n: 3 } });
  });

  test('that were sent at once are all there', async () => {
    const { sagas } = await apps.start({ sagas: [LineSaga] });
    const saga = await sagas.start(LineSaga, undefined);
    await Promise.all([1, 2, 3].map((n) => sagas.signal(saga.id, 'next', n)));
    const { first, second, third } = (await saga.outcome()).results;
    expect([first!.n, second!.n, third!.n].sort()).toEqual([1, 2, 3]);
  });

  test('with the same message id are one', async () => {
    const { sagas } = await apps.start({ sagas: [LineSaga] });
    const saga = await sagas.start(LineSaga, undefined);
    await sagas.signal(saga.id, 'next', 1, { messageId: 'm1' });
    await sagas.signal(saga.id, 'next', 100, { messageId: 'm1' });
    await sagas.signal(saga.id, 'next', 2, { messageId: 'm2' });
    await sagas.signal(saga.id, 'next', 3, { messageId: 'm3' });
    expect((await saga.outcome()).results).toEqual({ first: { n: 1 }, second: { n: 2 }, third: { n: 3 } });
    await sagas.signal(saga.id, 'next', 3, { messageId: 'm3' });
  });
});

describe('A wait with a timeout', () => {
  @Saga({ name: 'patient', retry: { attempts: 1 } })
  class PatientSaga extends Journalled {
    @Step({ compensate: 'undo' }) request(ctx: StepContext) {
      this.note(ctx);
    }
    @WaitFor({ signal: 'reply', timeout: '40ms', compensate: 'undo' }) reply(ctx: StepContext, _: unknown) {
      this.note(ctx);
    }
  }

  test('turns the saga back when nothing came in time', async () => {
    const { sagas } = await apps.start({ sagas: [PatientSaga], options: NO_POLL });
    const saga = await sagas.start(PatientSaga, undefined);
    expect(await saga.outcome()).toMatchObject({
      status: 'compensated',
      failure: { kind: 'timeout', step: 'reply', error: { name: 'SignalTimeoutError' } },
    });
    expect(journal).toEqual(['request', 'undo request']);
  });

  @Saga({ name: 'unhurried' })
  class UnhurriedSaga {
    @WaitFor({ signal: 'reply', timeout: '1h' }) reply() {}
  }

  /** A saga that waits, and that no worker looks at any more. */
  async function waiting(): Promise<Pick<TestApp, 'sagas' | 'dataSource'> & { readonly id: string }> {
    const { sagas, dataSource } = await apps.start({ sagas: [UnhurriedSaga], options: { worker: false } });
    const { id } = await sagas.start(UnhurriedSaga, undefined);
    const worker = await apps.start({ sagas: [UnhurriedSaga] });
    await waits(apps, id);
    await worker.close();
    return { sagas, dataSource, id };
  }

  /** The hour has ended, at this time (ms). */
  async function ended(at: string): Promise<void> {
    await apps.sql(
      `UPDATE saga.step SET progress = jsonb_set(progress::jsonb, '{wait,until}', to_jsonb((${at})::float8))
       WHERE name = 'reply'`,
    );
    await until(isOver);
  }

  test('says until when', async () => {
    const { sagas, id } = await waiting();
    const reply = { kind: 'signal', step: 'reply', signal: 'reply', until: expect.any(Date) };
    expect((await sagas.get(id)).waitingFor).toEqual(reply);
  });

  test('is won by a signal that came before anybody looked', async () => {
    const { sagas, id } = await waiting();
    await sagas.signal(id, 'reply');
    await ended('SELECT extract(epoch FROM sent_at) * 1000 + 1 FROM saga.signal');
    await apps.start({ sagas: [UnhurriedSaga] });
    expect((await sagas.wait(id)).status).toBe('completed');
  });

  test.each(['by itself', 'in a transaction that began before'])(
    'is not won by a signal that came after it, %s, though no worker has looked since',
    async (how) => {
      const { sagas, dataSource, id } = await waiting();
      await dataSource.transaction(async (manager) => {
        await manager.query('SELECT now()');
        await ended('SELECT extract(epoch FROM clock_timestamp()) * 1000');
        const options = how === 'by itself' ? {} : { transaction: manager };
        await sagas.signal(id, 'reply', undefined, options);
      });
      await apps.start({ sagas: [UnhurriedSaga] });
      expect(await sagas.wait(id)).toMatchObject({ status: 'compensated', failure: { kind: 'timeout' } });
    },
  );
});

/** The time of the step 'reply' has passed. */
async function isOver(): Promise<boolean | undefined> {
  const [row] = await apps.sql<{ late: boolean }>(
    `SELECT now() > (progress -> 'wait' ->> 'until')::float8 / 1000 * interval '1 s' + 'epoch'::timestamptz AS late
     FROM saga.step WHERE name = 'reply'`,
  );
  return row?.late;
}

describe('A savepoint', () => {
  test('has the saga wait anew', async () => {
    let refusals = 1;
    @Saga({ name: 'again', retry: { attempts: 1 } })
    class AgainSaga extends Journalled {
      @Step({ savepoint: true }) begin(ctx: StepContext) {
        this.note(ctx);
      }
      @WaitFor({ signal: 'reply', compensate: 'undo' }) reply(ctx: StepContext, payload: string) {
        return this.note(ctx, { payload, key: ctx.idempotencyKey.split(':')[1] });
      }
      @Step() end(ctx: StepContext) {
        this.note(ctx);
        if (refusals-- > 0) throw new Error('once more');
      }
    }
    const { sagas } = await apps.start({ sagas: [AgainSaga] });
    const saga = await sagas.start(AgainSaga, undefined);
    await sagas.signal(saga.id, 'reply', 'one');
    await sagas.signal(saga.id, 'reply', 'two');
    expect((await saga.outcome()).results.reply).toEqual({ payload: 'two', key: 'reply~2' });
    expect(journal).toEqual(['begin', 'reply', 'end', 'undo reply', 'reply', 'end']);
  });
});

test('A saga that waits in one branch goes on in another', async () => {
  @Saga({ name: 'forked' })
  class ForkedSaga extends Journalled {
    @WaitFor({ signal: 'reply', after: [] }) reply(ctx: StepContext, _: unknown) {
      this.note(ctx);
    }
    @Step({ after: [] }) work(ctx: StepContext) {
      this.note(ctx);
    }
    @Step({ after: ['reply', 'work'] }) end(ctx: StepContext) {
      this.note(ctx);
    }
  }
  const { sagas } = await apps.start({ sagas: [ForkedSaga], options: NO_POLL });
  const saga = await sagas.start(ForkedSaga, undefined);
  await until(() => journal.includes('work'));
  await sagas.signal(saga.id, 'reply');
  expect((await saga.outcome()).status).toBe('completed');
  expect(journal.sort()).toEqual(['end', 'reply', 'work']);
});

test('A condition that says no skips the wait', async () => {
  @Saga({ name: 'small' })
  class SmallSaga {
    @WaitFor({ signal: 'reply', when: (ctx: StepContext<{ amount: number }>) => ctx.input.amount > 100 })
    reply(_ctx: StepContext<{ amount: number }>, payload: string) {
      return payload;
    }
  }
  const { sagas } = await apps.start({ sagas: [SmallSaga], options: NO_POLL });
  const small = await sagas.start(SmallSaga, { amount: 1 });
  expect((await small.outcome()).status).toBe('completed');
  const large = await sagas.start(SmallSaga, { amount: 1_000 });
  await sagas.signal(large.id, 'reply', 'yes');
  expect((await large.outcome()).results).toEqual({ reply: 'yes' });
});

test('A compensation of a wait is given what the step came to', async () => {
  const undone: unknown[] = [];
  @Saga({ name: 'undone', retry: { attempts: 1 } })
  class UndoneSaga {
    @WaitFor({ signal: 'reply', compensate: 'giveBack' }) reply(_ctx: StepContext, payload: { id: string }) {
      return { taken: payload.id };
    }
    async giveBack(ctx: CompensationContext<unknown, { taken: string }>) {
      undone.push(ctx.result);
    }
    @Step() fail() {
      throw new Error('no');
    }
  }
  const { sagas } = await apps.start({ sagas: [UndoneSaga] });
  const saga = await sagas.start(UndoneSaga, undefined);
  await sagas.signal(saga.id, 'reply', { id: 'x' });
  expect((await saga.outcome()).status).toBe('compensated');
  expect(undone).toEqual([{ taken: 'x' }]);
});
