import {
  Approval,
  RemoteStep,
  Saga,
  type SagaOperations,
  type SagaService,
  Step,
  type StepContext,
  SubSaga,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

let ran: string[];
beforeEach(() => {
  ran = [];
});

interface Input {
  readonly key: string;
}
type Ctx = StepContext<Input>;

@Saga({ name: 'plain' })
class PlainSaga {
  @Step() first({ input }: Ctx) {
    ran.push(input.key);
  }
}
@Saga({ name: 'locked', lockKey: ({ input }: { input: Input }) => input.key, timeout: '2h' })
class LockedSaga {
  @Step() first({ input }: Ctx) {
    ran.push(input.key);
  }
}
@Saga({ name: 'limited', limit: 5 })
class LimitedSaga {
  @Step({ idempotent: false }) first({ input }: Ctx) {
    ran.push(input.key);
  }
}
@Saga({ name: 'keyed', limit: { count: 1, key: ({ input }: { readonly input: Input }) => input.key } })
class KeyedSaga {
  @Step() first({ input }: Ctx) {
    ran.push(input.key);
  }
}
@Saga({ name: 'rated', rateLimit: { count: 100, per: '1s' }, timeout: '2h' })
class RatedSaga {
  @Step({ limit: { count: 1 }, rateLimit: { count: 100, per: '1s' } }) first({ input }: Ctx) {
    ran.push(input.key);
  }
}
@Saga({ name: 'awaiting' })
class AwaitingSaga {
  @WaitFor({ signal: 'paid', timeout: '2h' }) first({ input }: Ctx) {
    ran.push(input.key);
  }
}
@Saga({ name: 'asking' })
class AskingSaga {
  @Approval({ timeout: '2h' }) first({ input }: Ctx) {
    ran.push(input.key);
  }
}
@Saga({ name: 'parent' })
class ParentSaga {
  @SubSaga(() => PlainSaga) first({ input }: Ctx) {
    return input;
  }
}
@Saga({ name: 'calling' })
class CallingSaga {
  @RemoteStep('charge') first({ input }: Ctx) {
    return input;
  }
}
const KINDS = {
  plain: PlainSaga,
  locked: LockedSaga,
  limited: LimitedSaga,
  keyed: KeyedSaga,
  rated: RatedSaga,
  awaiting: AwaitingSaga,
  asking: AskingSaga,
  parent: ParentSaga,
  calling: CallingSaga,
};
const sagas = Object.values(KINDS);
const names = Object.keys(KINDS);
const options = { worker: { pollInterval: 50 } };
const WHO = { by: 'ann' };

/** Those that begin to wait, or to run, once their start time has come. */
const BEGUN = {
  awaiting: 'signal',
  asking: 'approval',
  calling: 'handler',
} as Readonly<Record<string, string>>;

/** Nothing is due, and no worker holds a saga. */
const atRest = () =>
  until(async () => {
    const busy = await apps.sql(
      'SELECT FROM saga.instance WHERE name = ANY($1) AND (locked_by IS NOT NULL OR due_at <= now())',
      [names],
    );
    return busy.length === 0;
  });

const startTimeComes = () =>
  apps.sql(
    'UPDATE saga.instance SET starts_at = now(), due_at = now(), rank_at = now() WHERE starts_at IS NOT NULL',
  );

async function expectUnbegun(service: SagaService, id: string, begins: Date): Promise<void> {
  const { saga, status, waitingFor, steps } = await service.get(id);
  expect({ saga, status, waitingFor, first: steps[0]!.status }).toEqual({
    ...{ saga, status: 'running', first: 'pending' },
    waitingFor: { kind: 'delay', until: begins },
  });
}

/** One saga of each kind, that begins in an hour. */
async function startAll(
  service: SagaService,
  key: string,
): Promise<Map<string, { id: string; begins: Date }>> {
  const started = new Map<string, { id: string; begins: Date }>();
  for (const name of names) {
    const { id } = await service.start(name, { key }, { delay: '1h' });
    const wait = (await service.get(id)).waitingFor as { kind: 'delay'; until: Date };
    expect(wait).toEqual({ kind: 'delay', until: expect.any(Date) });
    started.set(name, { id, begins: wait.until });
  }
  return started;
}

test.each<[string, (operations: SagaOperations, name: string, id: string) => Promise<void>]>([
  [
    'pauses and resumes it',
    async (operations, _, id) => {
      await operations.pause(id, WHO);
      await atRest();
      await operations.resume(id, WHO);
    },
  ],
  [
    'pauses and resumes its first step',
    async (operations, name) => {
      await operations.pauseStep(name, 'first', WHO);
      await operations.resumeStep(name, 'first', WHO);
    },
  ],
  [
    'makes it due before',
    async (_, __, id) => {
      await apps.sql('UPDATE saga.instance SET due_at = now(), rank_at = now() WHERE id = $1', [id]);
    },
  ],
])('a saga of any kind keeps its start time if someone %s', async (_, disturb) => {
  const { sagas: service, operations } = await apps.start({ sagas, options });
  const started = await startAll(service, 'a');
  for (const [name, { id }] of started) await disturb(operations, name, id);
  await until(async () =>
    (await operations.pausedSteps({ resumed: 100 })).items.every((one) => 'resumed' in one),
  );
  await atRest();
  for (const { id, begins } of started.values()) await expectUnbegun(service, id, begins);
  expect(ran).toEqual([]);
  await startTimeComes();
  for (const [name, { id }] of started) {
    await until(async () => {
      const { status, waitingFor } = await service.get(id);
      return BEGUN[name] === undefined ? status === 'completed' : waitingFor?.kind === BEGUN[name];
    });
  }
});

test('a saga that waits for its start time is cancelled and aborted at once, and keeps no lock from others', async () => {
  const { sagas: service, operations } = await apps.start({ sagas, options });
  for (const end of ['cancel', 'abort'] as const) {
    const started = await startAll(service, end);
    const { id } = started.get('locked')!;
    await operations.pauseStep('locked', 'first', WHO);
    await operations.resumeStep('locked', 'first', WHO);
    await atRest();
    const other = await service.start('locked', { key: end });
    expect((await other.outcome()).status).toBe('completed');
    await expectUnbegun(service, id, started.get('locked')!.begins);
    for (const saga of started.values()) {
      await (end === 'cancel' ? service.cancel(saga.id, WHO) : operations.abort(saga.id, WHO));
      const ended = end === 'cancel' ? 'compensated' : 'aborted';
      await until(async () => (await service.get(saga.id)).status === ended);
    }
  }
});

test('a step whose saga waits for its start time cannot be rescheduled, and the error names the time', async () => {
  const { sagas: service, operations } = await apps.start({ sagas, options });
  const { id, begins } = (await startAll(service, 'a')).get('awaiting')!;
  await expect(operations.reschedule(id, 'first', '3h')).rejects.toThrow(
    `Step 'first' of saga ${id} cannot be rescheduled: its saga starts at ${begins.toISOString()}, and until then it waits for no time.`,
  );
});

test('a signal that comes before the start time is kept for it, and an operator completes a step before it', async () => {
  const { sagas: service, operations } = await apps.start({ sagas, options });
  const started = await startAll(service, 'a');
  const [paid, done] = [started.get('awaiting')!, started.get('plain')!];
  await service.signal(paid.id, 'paid', {}, { messageId: 'one' });
  await operations.resolve(done.id, 'first', { result: 1, ...WHO });
  await atRest();
  await expectUnbegun(service, paid.id, paid.begins);
  await until(async () => (await service.get(done.id)).status === 'completed');
  await startTimeComes();
  await until(async () => (await service.get(paid.id)).status === 'completed');
});
