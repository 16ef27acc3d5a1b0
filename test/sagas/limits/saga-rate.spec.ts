import { Saga, SagaValidationError, Step, type StepContext } from '../../../libs/saga/src/index.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

describe('a rate limit of sagas', () => {
  test('is kept by all sagas of the name in all applications, and all of them begin', async () => {
    const begun: number[] = [];
    @Saga({ name: 'paced', rateLimit: { count: 5, per: 400 } })
    class Paced {
      @Step({ retry: { attempts: 2, delay: 1 } }) begin({ attempt, input }: StepContext<number>) {
        if (attempt === 1) begun.push(Date.now());
        if (input % 5 === 0 && attempt === 1) throw new Error('again');
      }
      @Step() after() {}
    }
    const two = await Promise.all([1, 2].map(() => apps.start({ sagas: [Paced] })));
    const since = Date.now();
    const handles = await Promise.all(
      Array.from({ length: 20 }, (_, n) => two[n % 2]!.sagas.start(Paced, n)),
    );
    const ended = await Promise.all(handles.map((saga) => saga.outcome()));
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['completed']));
    expect(begun).toHaveLength(20);
    // Lateness only makes it longer.
    expect(Math.max(...begun) - since).toBeGreaterThanOrEqual(3 * 400);
  });

  test('makes a saga wait without a lease, and is not asked again when its time has come', async () => {
    let begun = 0;
    @Saga({ name: 'slow', rateLimit: { count: 1, per: '3s' } })
    class Slow {
      @Step() work() {
        begun += 1;
      }
    }
    const { sagas } = await apps.start({ sagas: [Slow] });
    await (await sagas.start(Slow, 1)).outcome();
    const second = await sagas.start(Slow, 2);
    await until(async () => (await sagas.get(second.id)).waitingFor?.kind === 'rate-limit');
    const snapshot = await sagas.get(second.id);
    expect(snapshot.lockedBy).toBeUndefined();
    expect(begun).toBe(1);
    const times = `SELECT times FROM saga.rate_limit WHERE saga = 'slow'`;
    const given = await apps.sql(times);
    expect((await second.outcome()).status).toBe('completed');
    expect(begun).toBe(2);
    expect(await apps.sql(times)).toEqual(given);
    expect(await apps.sql('SELECT progress FROM saga.instance WHERE id = $1', [second.id])).toEqual([
      { progress: null },
    ]);
  });

  test('of each key is kept by itself, and a start without a key is refused', async () => {
    @Saga({
      name: 'keyed',
      rateLimit: { count: 1, per: '1h', key: ({ input }: { input: { tenant: string } }) => input.tenant },
    })
    class Keyed {
      @Step() work() {}
    }
    const { sagas } = await apps.start({ sagas: [Keyed] });
    const run = async (tenant: string) => (await sagas.start(Keyed, { tenant })).outcome();
    expect((await run('a')).status).toBe('completed');
    const second = await sagas.start(Keyed, { tenant: 'a' });
    expect((await run('b')).status).toBe('completed');
    await until(async () => (await sagas.get(second.id)).waitingFor?.kind === 'rate-limit');
    expect((await sagas.get(second.id)).waitingFor).toMatchObject({ kind: 'rate-limit', key: 'a' });
    const refused = sagas.start(Keyed, { tenant: '' });
    await expect(refused).rejects.toThrow(SagaValidationError);
    await sagas.cancel(second.id);
    expect((await second.outcome()).status).toBe('compensated');
  });
});
