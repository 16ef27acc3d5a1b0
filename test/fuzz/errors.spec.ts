import fc from 'fast-check';
import {
  type CompensationContext,
  Saga,
  type SagaService,
  type SagaSnapshot,
  Step,
  type StepContext,
  type TransactionalStepContext,
  UnknownOutcomeError,
} from '../../libs/saga/src/index.js';
import { oddities, type Thrown, thrownThings } from '../fixtures/hostile-errors.js';
import { serializeError } from '../../libs/saga/src/engine/payload/serialize-error.js';
import { TestApps } from '../support/test-app.js';
import { allAtOnce, casesOf, IN_TIME, Neighbour, Neighbours } from './neighbour-sagas.js';

const ONCE = { attempts: 1 };
const TWICE = { attempts: 2, delay: 0 };
interface Case {
  readonly n: number;
}

const apps = TestApps.onOwnDatabase();
const cases = [...oddities(), ...casesOf(thrownThings, 80)];
/** In every way in which a method can fail. */
const fail = ({ n }: Case): unknown => {
  const { thrown } = cases[n]!;
  if (n % 2 === 0) throw thrown;
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- anything may be thrown
  return Promise.reject(thrown);
};

@Saga({ name: 'fail-twice', retry: TWICE })
class FailTwice {
  @Step({ compensate: 'undo' }) before() {
    return 'done';
  }
  undo() {}
  @Step() act({ input }: StepContext<Case>) {
    return fail(input);
  }
}

@Saga({ name: 'fail-in-transaction', retry: TWICE })
class FailInTransaction {
  @Step({ transactional: true }) async act({ input, manager }: TransactionalStepContext<Case>) {
    await manager.query('SELECT 1');
    return fail(input);
  }
}

@Saga({ name: 'fail-back', retry: ONCE, compensationRetry: TWICE })
class FailBack {
  @Step({ compensate: 'undo' }) act() {
    return 'done';
  }
  undo({ input }: CompensationContext<Case>) {
    return fail(input) as void;
  }
  @Step() refuse() {
    throw new Error('back');
  }
}

@Saga({ name: 'fail-probe', retry: ONCE })
class FailProbe {
  @Step({ probe: 'ask' }) act() {
    throw new UnknownOutcomeError('answer lost');
  }
  ask({ input }: StepContext<Case>) {
    return fail(input) as 'unknown';
  }
}

/** What is kept of it, as it is read again. */
const kept = ({ thrown }: Thrown): object => JSON.parse(JSON.stringify(serializeError(thrown))) as object;

/** As it was left, once it is settled. */
async function settled(
  sagas: SagaService,
  run: (one: Case) => Promise<{ id: string; outcome: (o: typeof IN_TIME) => Promise<unknown> }>,
): Promise<SagaSnapshot[]> {
  const neighbours = new Neighbours(sagas);
  const results = await allAtOnce(cases, neighbours, async (_, n) => {
    const { id, outcome } = await run({ n });
    await outcome(IN_TIME);
    return sagas.get(id);
  });
  await neighbours.expectUnharmed();
  return results.map((one, n) => {
    if (one.status === 'fulfilled') return one.value;
    throw new Error(`${fc.stringify(cases[n])}: ${String(one.reason)}`);
  });
}

const errorsOf = (snapshot: SagaSnapshot, step: string) =>
  snapshot.steps.find(({ name }) => name === step)!.errors;

describe('whatever is thrown', () => {
  test('by a step is tried again, read with name, message, stack and cause, and turns only its saga back', async () => {
    const { sagas } = await apps.start({ sagas: [FailTwice, Neighbour] });
    const snapshots = await settled(sagas, (input) => sagas.start(FailTwice, input));
    snapshots.forEach((snapshot, n) => {
      const error = kept(cases[n]!);
      expect(snapshot).toMatchObject({
        status: 'compensated',
        failure: { kind: 'error', step: 'act', error },
      });
      const of = (attempt: number) => ({
        ...error,
        attempt,
        during: 'step',
        at: expect.any(String) as string,
      });
      expect(errorsOf(snapshot, 'act')).toEqual([of(1), of(2)]);
    });
    const { items } = await sagas.find({ saga: FailTwice, limit: 1_000 });
    expect(items.map(({ error }) => typeof error)).toEqual(cases.map(() => 'string'));
  });

  test('by a transactional step rolls it back', async () => {
    const { sagas } = await apps.start({ sagas: [FailInTransaction, Neighbour] });
    const snapshots = await settled(sagas, (input) => sagas.start(FailInTransaction, input));
    snapshots.forEach((snapshot, n) => {
      expect(snapshot).toMatchObject({
        status: 'compensated',
        failure: { step: 'act', error: kept(cases[n]!) },
      });
    });
  });

  test('by a compensation leaves its saga to an operator, who can read the error and resolve the step', async () => {
    const { sagas, operations } = await apps.start({ sagas: [FailBack, Neighbour] });
    const snapshots = await settled(sagas, (input) => sagas.start(FailBack, input));
    snapshots.forEach((snapshot, n) => {
      expect(snapshot).toMatchObject({ status: 'stuck', waitingFor: { kind: 'person', steps: ['act'] } });
      expect(errorsOf(snapshot, 'act')).toMatchObject([kept(cases[n]!), kept(cases[n]!)]);
    });
    await Promise.all(snapshots.map(({ id }) => operations.resolve(id, 'act')));
    const outcomes = await Promise.all(snapshots.map(({ id }) => sagas.wait(id, IN_TIME)));
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['compensated']));
  });

  test('by a probe leaves the outcome unknown', async () => {
    const { sagas } = await apps.start({ sagas: [FailProbe, Neighbour] });
    const snapshots = await settled(sagas, (input) => sagas.start(FailProbe, input));
    for (const snapshot of snapshots) {
      expect(snapshot).toMatchObject({
        status: 'compensated',
        failure: { error: { message: 'answer lost' } },
      });
      expect(snapshot.steps[0]!.unknown).toBe(true);
    }
  });
});
