import { ForbiddenException } from '@nestjs/common';
import { SagaTest } from 'nestjs-durable-saga/testing';
import {
  Bank,
  EscalatedPayoutSaga,
  LargePayoutSaga,
  PayoutDecisions,
  PayoutTasks,
  SmallPayoutSaga,
} from './human-approval.js';

const DAY = 86_400_000;
const input = { id: 'payout-1', to: 'ada', cents: 5_000_00, requestedBy: 'bob' };

describe('one person', () => {
  const payout = SagaTest.of(SmallPayoutSaga).providers(Bank);

  test('is not asked about small amounts', async () => {
    const { outcome, trace } = await payout.run({ ...input, cents: 99_00 });
    expect([outcome.status, trace]).toEqual(['completed', ['transfer']]);
  });

  test('says yes, and the money goes', async () => {
    const run = await payout.start(input);
    expect(run.waitingFor).toMatchObject({ kind: 'approval', step: 'approve' });
    await run.approve('approve', 'ann');
    expect(run.outcome.results.approve).toEqual({ by: 'ann' });
    expect(run.outcome.status).toBe('completed');
  });

  test('says no, and nothing goes', async () => {
    const { outcome, trace } = await payout.rejecting('approve', 'ann').run(input);
    expect(outcome.failure?.kind).toBe('rejected');
    expect(trace).toEqual([]);
  });

  test('has not answered for three days, and nothing goes', async () => {
    const run = await payout.run(input);
    expect(run.outcome.failure?.kind).toBe('timeout');
    expect(run.took).toBe(3 * DAY);
  });
});

describe('four eyes', () => {
  const payout = SagaTest.of(LargePayoutSaga).providers(Bank);

  test('are those of two people, neither of whom has asked for the money', async () => {
    const run = await payout.start(input);
    const decisions = new PayoutDecisions(run.sagas);
    const tasks = async () => (await new PayoutTasks(run.sagas).page()).items;
    expect(await tasks()).toMatchObject([{ step: 'approve', quorum: 2, approvals: [] }]);
    await expect(decisions.approve(run.id, 'approve', 'bob')).rejects.toBeInstanceOf(ForbiddenException);
    await decisions.approve(run.id, 'approve', 'ann');
    expect(await tasks()).toMatchObject([{ approvals: [{ by: 'ann' }] }]);
    await expect(decisions.approve(run.id, 'approve', 'ann')).rejects.toMatchObject({ code: 'SAGA_STATE' });
    await decisions.approve(run.id, 'approve', 'cid');
    await run.finish();
    expect(await tasks()).toEqual([]);
    expect(run.outcome.status).toBe('completed');
    expect(run.outcome.results.approve).toEqual({ by: ['ann', 'cid'] });
    const history = await run.operations.history(run.id);
    expect(history.map(({ action, step, by }) => [action, step, by])).toEqual([
      ['approve', 'approve', 'ann'],
      ['approve', 'approve', 'cid'],
    ]);
  });

  test('do not include those of the requester, whoever calls', async () => {
    const run = await payout.start(input);
    await run.sagas.approve(run.id, 'approve', { by: 'bob' });
    await run.sagas.approve(run.id, 'approve', { by: 'ann' });
    await run.finish();
    expect(run.outcome.failure?.error?.message).toBe('the requester has approved it');
    expect(run.trace).not.toContain('transfer');
  });

  test('see a no as final', async () => {
    const run = await payout.start(input);
    const decisions = new PayoutDecisions(run.sagas);
    await decisions.approve(run.id, 'approve', 'ann');
    await decisions.reject(run.id, 'approve', 'cid', 'too much');
    await run.finish();
    expect(run.outcome.status).toBe('compensated');
    expect(run.outcome.failure?.error?.message).toContain('too much');
  });
});

describe('the escalation', () => {
  const payout = SagaTest.of(EscalatedPayoutSaga).providers(Bank);
  const asked = (published: readonly { payload: unknown }[]) =>
    published.map(({ payload }) => (payload as { role: string }).role);

  test('leaves the director alone when the lead answers in time', async () => {
    const run = await payout.start(input);
    await run.advance('1d');
    await run.signal('lead', { by: 'ann', granted: true });
    await run.finish();
    expect(run.outcome.status).toBe('completed');
    expect(asked(run.published)).toEqual(['lead']);
  });

  test('takes the lead’s no as the answer', async () => {
    const run = await payout.start(input);
    await run.signal('lead', { by: 'ann', granted: false });
    await run.finish();
    expect(run.outcome.failure?.error?.message).toBe('ann said no');
    expect(asked(run.published)).toEqual(['lead']);
  });

  test('asks the director after two days, who may decide', async () => {
    const run = await payout.start(input);
    await run.advance('2d');
    await run.advance('1h');
    expect(asked(run.published)).toEqual(['lead', 'director']);
    await run.signal('director', { by: 'dora', granted: true });
    await run.finish();
    expect(run.outcome.status).toBe('completed');
    expect(run.outcome.results.decide).toEqual({ by: 'dora', granted: true });
  });

  test('ends after seven days of silence', async () => {
    const run = await payout.run(input);
    expect(run.outcome.failure?.kind).toBe('timeout');
    expect(run.took).toBe(7 * DAY);
    expect(run.trace).not.toContain('transfer');
  });
});
