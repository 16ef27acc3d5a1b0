import {
  Approval,
  type ApprovalDecision,
  Saga,
  SagaStateError,
  Step,
  type StepContext,
} from '../../../libs/saga/src/index.js';
import { analyzeSaga } from '../../../libs/saga/src/diagram.js';
import { describeWait } from '../../../libs/saga/src/operators.js';
import { SagaTest } from '../../../libs/saga/src/testing/index.js';
import { Gate, until } from '../../support/gate.js';
import { type TestApp, TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
let going: Gate<void>;
beforeEach(() => (going = new Gate()));

interface Loan {
  readonly waits?: boolean;
}

@Saga({ name: 'loan' })
class LoanSaga {
  @Step() async prepare({ input }: StepContext<Loan>) {
    if (input.waits) await going.opened;
  }
  @Approval({ quorum: 3 }) grant(_: StepContext<Loan>, { by, approvals }: ApprovalDecision) {
    return { by, of: approvals?.map((one) => one.by) };
  }
  @Step() pay() {}
}

async function started(input: Loan) {
  const { sagas, operations, close } = await apps.start({ sagas: [LoanSaga] });
  const saga = await sagas.start(LoanSaga, input);
  const waits = () => until(async () => (await sagas.get(saga.id)).waitingFor?.kind === 'approval');
  return { sagas, operations, close, ...saga, waits };
}

/** More often than operations are loaded with a saga because they are recent. */
async function pauseOften({ sagas, operations }: Pick<TestApp, 'sagas' | 'operations'>, id: string) {
  for (let n = 0; n < 13; n += 1) {
    await operations.pause(id);
    await until(async () => (await sagas.get(id)).status === 'paused');
    await operations.resume(id);
  }
}

describe('an approval with a quorum', () => {
  test('is given by so many different operators, and shows who has approved', async () => {
    const { sagas, operations, id, outcome, waits } = await started({});
    await waits();
    await sagas.approve(id, 'grant', { by: 'ann', comment: 'checked' });
    await sagas.approve(id, 'grant', { by: 'bob' });
    // The same operator counts once.
    const again = sagas.approve(id, 'grant', { by: 'ann' });
    await expect(again).rejects.toThrow(SagaStateError);
    await expect(again).rejects.toThrow(
      'ann has already approved it. It requires the approval of 3 different operators, and has 2.',
    );
    const { waitingFor, status } = await sagas.get(id);
    expect(waitingFor).toMatchObject({
      ...{ kind: 'approval', step: 'grant', quorum: 3 },
      approvals: [{ by: 'ann', comment: 'checked' }, { by: 'bob' }],
    });
    expect(status).toBe('running');
    expect(describeWait(waitingFor!)).toBe(
      "operators (2 of 3 have approved: ann, bob) to approve or reject step 'grant'",
    );
    await sagas.approve(id, 'grant', { by: 'eve' });
    expect((await outcome()).results).toMatchObject({ grant: { by: 'eve', of: ['ann', 'bob', 'eve'] } });
    expect((await operations.history(id)).map(({ by, proposed }) => [by, proposed])).toEqual([
      ['ann', true],
      ['bob', true],
      ['eve', false],
    ]);
  });

  test('counts approvals that came before the saga waits, and those at the same time, once each', async () => {
    const { sagas, id, outcome, waits } = await started({ waits: true });
    await sagas.approve(id, 'grant', { by: 'ann' });
    going.open();
    await waits();
    const said = await Promise.allSettled(
      ['bob', 'bob', 'ann'].map((by) => sagas.approve(id, 'grant', { by })),
    );
    expect(said.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await sagas.approve(id, 'grant', { by: 'eve' });
    expect((await outcome()).status).toBe('completed');
  });

  test('counts an approval whatever operators did to the saga since, also in a process that starts later', async () => {
    const { sagas, operations, close, id, waits } = await started({});
    await waits();
    await sagas.approve(id, 'grant', { by: 'ann' });
    await pauseOften({ sagas, operations }, id);
    await close();
    const { sagas: later } = await apps.start({ sagas: [LoanSaga] });
    await expect(later.approve(id, 'grant', { by: 'ann' })).rejects.toThrow('ann has already approved it');
    await later.approve(id, 'grant', { by: 'bob' });
    await later.approve(id, 'grant', { by: 'eve' });
    expect((await later.wait(id)).results).toMatchObject({
      grant: { of: ['ann', 'bob', 'eve'] },
    });
  });

  test('is rejected by one', async () => {
    const { sagas, id, outcome, waits } = await started({});
    await waits();
    await sagas.approve(id, 'grant', { by: 'ann' });
    await sagas.reject(id, 'grant', { by: 'ann' });
    expect(await outcome()).toMatchObject({ status: 'compensated', failure: { kind: 'rejected' } });
  });

  test('can be decided in a process that does not have the saga', async () => {
    const { sagas, id, outcome, waits } = await started({});
    await waits();
    const other = await apps.start({ sagas: [] });
    await other.sagas.approve(id, 'grant', { by: 'ann' });
    await other.sagas.approve(id, 'grant', { by: 'bob' });
    expect((await sagas.get(id)).status).toBe('running');
    await other.sagas.approve(id, 'grant', { by: 'eve' });
    expect((await outcome()).status).toBe('completed');
  });
});

test('SagaTest approves by so many operators', async () => {
  const run = await SagaTest.of(LoanSaga).approving('grant', 'ann').approving('grant', 'bob').run({});
  expect(run.outcome).toMatchObject({
    ...{ status: 'completed', results: { grant: { of: ['ann', 'bob', 'bob 3'] } } },
  });
  const one = await SagaTest.of(LoanSaga).start({});
  await one.approve('grant', 'ann');
  expect(one.waitingFor).toMatchObject({ quorum: 3, approvals: [{ by: 'ann' }] });
  await pauseOften(one, one.id);
  await one.proceed();
  expect(one.waitingFor).toMatchObject({ quorum: 3, approvals: [{ by: 'ann' }] });
});

test.each([0, 1.5, 11, '2'])('a quorum of %j is refused at start-up', (quorum) => {
  @Saga({ name: 'wrong' })
  class WrongSaga {
    @Approval({ quorum: quorum as number }) grant() {}
  }
  const [finding] = analyzeSaga(WrongSaga);
  expect(finding).toMatchObject({ step: 'grant', problem: expect.stringContaining('quorum') as string });
});

describe('an approval that waits keeps its quorum when a deploy changes it:', () => {
  const loanOf = (quorum: number) => {
    @Saga({ name: 'loan' })
    class ChangedLoanSaga {
      @Approval({ quorum }) grant() {}
    }
    return ChangedLoanSaga;
  };

  test.each([
    [1, 2],
    [2, 3],
    [3, 1],
  ])('from %d to %d', async (before, after) => {
    const old = await apps.start({ sagas: [loanOf(before)] });
    const { id } = await old.sagas.start('loan', {});
    await until(async () => (await old.sagas.get(id)).waitingFor?.kind === 'approval');
    await old.close();
    const { sagas } = await apps.start({ sagas: [loanOf(after)] });
    for (let given = 0; given < before; given += 1) {
      const [task] = (await sagas.tasks()).items;
      expect(task).toMatchObject({ id, quorum: before });
      expect(task!.approvals).toHaveLength(given);
      await sagas.approve(id, 'grant', { by: `operator ${given}` });
    }
    expect((await sagas.tasks()).items).toEqual([]);
    await until(async () => (await sagas.get(id)).status === 'completed');
  });
});
