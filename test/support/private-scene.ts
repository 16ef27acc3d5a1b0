import { inspect } from 'node:util';
import {
  Approval,
  type CompensationContext,
  Saga,
  type SagaOperations,
  type SagaSchedules,
  type SagaService,
  Step,
  type StepContext,
  StepRejectedError,
  SubSaga,
  UnknownOutcomeError,
  WaitFor,
} from '../../libs/saga/src/index.js';
import type { OperatorOptions } from '../../libs/saga/src/operators.js';
import { until } from './gate.js';
import type { TestApp } from './test-app.js';

/** Each value names what it is. */
const planted = new Set<string>();
export function secret(what: string): string {
  const value = `secret<${what}>`;
  planted.add(value);
  return value;
}
const isPlanted = (value: string) => new RegExp(value.replaceAll(/[<>]/g, '.'));

/** All that leaves the process, or stays, by its place. */
const seen = new Map<string, string[]>();
export function show(where: string, ...values: unknown[]): void {
  const text = values.map((value) =>
    typeof value === 'string'
      ? value
      : inspect(value, { depth: 8, maxStringLength: null, maxArrayLength: null, breakLength: Infinity }),
  );
  seen.set(where, [...(seen.get(where) ?? []), ...text]);
}

/** The places at which a value is readable. */
export function placesOf(value: string): string[] {
  return [...seen].flatMap(([where, texts]) =>
    texts.some((text) => isPlanted(value).test(text)) ? where : [],
  );
}

/** The places at which planted values are readable. */
export function leaks(): string[] {
  return [...planted].flatMap((value) => placesOf(value).map((where) => `${value} in ${where}`));
}

/** An error whose every text may contain data. */
function failing(what: string): Error {
  const cause = new Error(secret(`cause of ${what}`));
  return new Error(secret(`message of ${what}`), { cause });
}

interface Input {
  readonly card: string;
  readonly fails?: string;
}
type Ctx = StepContext<Input>;

@Saga({ name: 'parcel' })
class Parcel {
  @Step() label(_ctx: StepContext<{ to: string }>) {
    return secret('result of a sub-saga');
  }
}

@Saga({ name: 'order', compensationRetry: { attempts: 2, delay: 1 } })
class OrderSaga {
  /** The same error thrice: only the first is written with the step's row. */
  @Step({ retry: { attempts: 4, delay: 1, jitter: 0 }, compensate: 'release' })
  async reserve(ctx: Ctx) {
    ctx.progress({ message: secret('message of progress') });
    await ctx.heartbeat({ at: secret('details of a heartbeat') });
    if (ctx.attempt < 4) throw sameError;
    ctx.publish({ topic: 'reserved', payload: { card: secret('payload of a published message') } });
    return { token: secret('result') };
  }
  release({ input }: CompensationContext<Input>) {
    if (input.fails === 'in its compensation') throw failing('a compensation');
  }

  @Step({ forEach: () => [secret('item'), secret('another item')] })
  pack(_ctx: Ctx) {
    return secret('result of an item');
  }

  @SubSaga(() => Parcel) parcel() {
    return { to: secret('input of a sub-saga') };
  }

  @WaitFor({ signal: 'paid' }) paid(_ctx: Ctx, payload: unknown) {
    return payload;
  }

  @Approval() release2(_ctx: Ctx) {
    return secret('result of an approval');
  }

  @Step({ retry: { attempts: 1 }, idempotent: false, probe: 'isCharged' })
  charge({ input }: Ctx) {
    if (input.fails === 'with an unknown outcome') throw new UnknownOutcomeError(secret('unknown outcome'));
  }
  isCharged(): never {
    throw failing('a probe');
  }

  @Step({
    retry: {
      attempts: 2,
      backoff: () => {
        throw failing('backoff');
      },
      retryIf: () => {
        throw failing('retryIf');
      },
    },
  })
  end({ input }: Ctx): string {
    if (input.fails === 'at its end') throw failing('a step');
    if (input.fails !== undefined) throw new StepRejectedError(secret('rejection'));
    return secret('last result');
  }
}
const sameError = failing('an error that repeats');

@Saga({ name: 'suspending', onFailure: 'suspend' })
class SuspendingSaga {
  @Step({ retry: { attempts: 1 } }) work(_ctx: StepContext<Input>): unknown {
    throw failing('a suspended step');
  }
}

@Saga({ name: 'hanging' })
class HangingSaga {
  @Step({ retry: { attempts: 1 }, compensate: 'free' }) hang(ctx: StepContext<Input>): Promise<void> {
    ctx.progress({ message: secret('progress of a hanging step') });
    return new Promise((_, reject) => {
      ctx.signal.addEventListener('abort', () => reject(failing('an aborted step')));
    });
  }
  free() {}
}

@Saga({
  name: 'nightly',
  schedule: { cron: '0 0 1 1 *', overlap: 'allow', input: () => ({ card: secret('input of a schedule') }) },
})
class NightlySaga {
  @Step() run(_ctx: StepContext<Input>) {}
}

export const PRIVATE_SAGAS = [OrderSaga, Parcel, SuspendingSaga, HangingSaga, NightlySaga];
/** The options under which they run, beside a codec. */
export const PRIVATE_OPTIONS = {
  approvals: { resolve: 2, abort: 2 },
  worker: { lease: '2s', pollInterval: '100ms' },
} as const;

const why = (what: string): OperatorOptions => ({ by: 'ann', reason: secret(`reason of ${what}`) });

type Given = 'planted' | 'nothing private';
/** What the calls of the services are given. A call that is added does not compile before it is here. */
const GIVEN: Readonly<{
  sagas: Record<keyof SagaService, Given>;
  operations: Record<keyof SagaOperations, Given>;
  schedules: Record<keyof SagaSchedules, Given>;
  // Reasons of shards: test/sagas/shards/shards.spec.ts.
}> = {
  sagas: {
    ...{ start: 'planted', signal: 'planted', cancel: 'planted', approve: 'planted', reject: 'planted' },
    ...{ get: 'nothing private', find: 'nothing private', watch: 'nothing private', wait: 'nothing private' },
    tasks: 'nothing private',
  },
  operations: {
    ...{ abort: 'planted', undo: 'planted', pause: 'planted', resume: 'planted', retry: 'planted' },
    ...{ resolve: 'planted', abandon: 'planted', reschedule: 'planted' },
    ...{ retryNow: 'planted', pauseStep: 'planted', resumeStep: 'planted', bulk: 'planted' },
    ...{ history: 'nothing private', stats: 'nothing private', previewRollback: 'nothing private' },
    ...{ cleanup: 'nothing private', pausedSteps: 'nothing private' },
  },
  schedules: { pause: 'planted', resume: 'planted', trigger: 'planted', list: 'nothing private' },
};

/** An engine that keeps the sagas. */
export interface PrivateSubject {
  readonly app: TestApp;
  /** The saga has no lease, and is due later. */
  rests(id: string): Promise<boolean>;
  /** The worker of the saga is lost. */
  loseWorker(id: string): Promise<void>;
  /** Shows what is kept at the moment. */
  showKept(): Promise<void>;
}

/** Sagas that end in every way, with private values wherever a user can give one. */
export function describePrivateValues(subject: () => PrivateSubject): void {
  let app: TestApp;
  beforeEach(() => ({ app } = subject()));

  const waits = (id: string, kind: string) =>
    until(async () => (await app.sagas.get(id)).waitingFor?.kind === kind);
  const input = (fails?: string): Input => ({ card: secret('input'), ...(fails && { fails }) });

  /** A saga that has passed all that it waits for. */
  async function decided(fails?: string): Promise<string> {
    const { id } = await app.sagas.start(OrderSaga, input(fails));
    await waits(id, 'signal');
    await app.sagas.signal(id, 'paid', { iban: secret('payload of a signal') });
    await waits(id, 'approval');
    await app.sagas.approve(id, 'release2', { by: 'ann', comment: secret('comment') });
    return id;
  }

  test('of a saga that completes, and is undone', async () => {
    const id = await decided();
    expect((await app.sagas.wait(id)).status).toBe('completed');
    await app.operations.undo(id, why('undo'));
    expect((await app.sagas.wait(id)).status).toBe('compensated');
    expect(GIVEN.operations.undo).toBe('planted');
  });

  test('of a saga that compensates, after errors that repeat, rejections and errors of its policies', async () => {
    const [last, unknown] = await Promise.all([decided('at its end'), decided('with an unknown outcome')]);
    for (const id of [last, unknown]) await app.sagas.wait(id);
    const rejected = await app.sagas.start(OrderSaga, input());
    await waits(rejected.id, 'signal');
    await app.sagas.signal(rejected.id, 'paid', secret('payload of a signal'));
    await waits(rejected.id, 'approval');
    await app.sagas.reject(rejected.id, 'release2', { by: 'bob', comment: secret('comment of a rejection') });
    expect((await rejected.outcome()).status).toBe('compensated');
  });

  test('of a saga that is cancelled, paused, resumed, rescheduled and resolved', async () => {
    const { id } = await app.sagas.start(OrderSaga, input());
    await waits(id, 'signal');
    await app.operations.pause(id, why('pause'));
    await until(async () => (await app.sagas.get(id)).status === 'paused');
    await app.operations.resume(id, why('resume'));
    await app.operations.reschedule(id, 'paid', '1h', why('reschedule'));
    // Two operators have to make the same call before the saga changes, as it does when a worker takes it and gives it back.
    await until(() => subject().rests(id));
    const done = { result: secret('resolved result'), reason: secret('reason of resolve') };
    await expect(app.operations.resolve(id, 'paid', { by: 'ann', ...done })).rejects.toThrow('2 operators');
    await app.operations.resolve(id, 'paid', { by: 'bob', ...done });
    await waits(id, 'approval');
    await app.sagas.cancel(id, why('cancel'));
    expect((await app.sagas.wait(id)).status).toBe('compensated');
  });

  test('of a saga that is stuck, resolved by two operators, and aborted by two', async () => {
    const ids = [await decided('in its compensation'), await decided('in its compensation')];
    for (const id of ids) expect((await app.sagas.wait(id)).status).toBe('stuck');
    const [resolved, aborted] = ids as [string, string];
    const done = { reason: secret('reason of resolve') };
    const pending = { code: 'SAGA_APPROVAL_PENDING' };
    await expect(app.operations.resolve(resolved, 'reserve', { by: 'ann', ...done })).rejects.toMatchObject(
      pending,
    );
    await app.operations.resolve(resolved, 'reserve', { by: 'bob', ...done });
    await expect(app.operations.abort(aborted, why('abort'))).rejects.toMatchObject(pending);
    await app.operations.abort(aborted, { by: 'bob', reason: secret('reason of abort') });
    expect((await app.sagas.wait(aborted)).status).toBe('aborted');
  });

  test('of a suspended saga that is retried with another input, retried in bulk, and resolved', async () => {
    const handles = [
      await app.sagas.start(SuspendingSaga, input()),
      await app.sagas.start(SuspendingSaga, input()),
    ];
    for (const saga of handles) expect((await saga.outcome()).status).toBe('suspended');
    const [retried] = handles;
    await app.operations.retry(retried!.id, { input: { card: secret('input of a retry') }, ...why('retry') });
    await retried!.outcome();
    await app.operations.bulk('retry', { saga: SuspendingSaga }, { ...why('bulk') });
    await retried!.outcome();
    const done = { result: { card: secret('resolved result') }, reason: secret('reason of resolve') };
    await expect(app.operations.resolve(retried!.id, 'work', { by: 'ann', ...done })).rejects.toThrow(
      '2 operators',
    );
    await app.operations.resolve(retried!.id, 'work', { by: 'bob', ...done });
    expect((await retried!.outcome()).status).toBe('completed');
  });

  test('of steps and schedules that are paused and resumed, and of a saga that a schedule starts', async () => {
    await app.operations.pauseStep(OrderSaga, 'reserve', why('pauseStep'));
    expect((await app.operations.pausedSteps()).items).toMatchObject([
      { reason: secret('reason of pauseStep') },
    ]);
    await until(async () => (await app.schedules.list()).length > 0);
    await app.schedules.pause(NightlySaga, why('pauseSchedule'));
    expect(await app.schedules.list()).toMatchObject([
      { paused: { reason: secret('reason of pauseSchedule') } },
    ]);
    await (await app.schedules.trigger(NightlySaga)).outcome();
    await subject().showKept();
    await app.schedules.resume(NightlySaga, why('resumeSchedule'));
    await app.operations.resumeStep(OrderSaga, 'reserve', why('resumeStep'));
    const { items } = await app.operations.pausedSteps({ resumed: 1 });
    expect(items).toMatchObject([{ resumed: { reason: secret('reason of resumeStep') } }]);
  });

  test('of a saga whose worker is lost during an attempt', async () => {
    const saga = await app.sagas.start(HangingSaga, input());
    await until(async () => (await app.sagas.get(saga.id)).steps[0]?.progress !== undefined);
    await subject().loseWorker(saga.id);
    await app.sagas.cancel(saga.id, why('cancel of a lost one'));
    expect((await saga.outcome()).status).toBe('compensated');
    await app.sagas.start(HangingSaga, input()).then(async ({ id }) => {
      await until(async () => (await app.sagas.get(id)).steps[0]?.progress !== undefined);
      await app.operations.abandon(id, 'hang', why('abandon'));
      await app.sagas.wait(id);
    });
  });
}
