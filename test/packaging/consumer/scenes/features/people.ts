import assert from 'node:assert/strict';
import {
  Approval,
  type ApprovalDecision,
  Saga,
  type SagaService,
  SagaStateError,
  Step,
  type StepContext,
  WaitFor,
} from 'nestjs-durable-saga';
import { eventually } from '../eventually.js';

@Saga({ name: 'grant-loan' })
class GrantLoanSaga {
  @Approval({ quorum: 2 })
  grant(_ctx: StepContext<number>, decision: ApprovalDecision): string[] {
    return decision.approvals!.map(({ by }) => by);
  }
}

const tokens: bigint[] = [];

@Saga({ name: 'ship' })
class ShipSaga {
  @Step()
  choose(ctx: StepContext<string>): string {
    tokens.push(ctx.fencingToken);
    ctx.setTags({ carrier: ctx.input, draft: null });
    return `${ctx.tags.carrier} ${ctx.tags.draft}`;
  }
  @WaitFor({ signal: 'go' })
  go(): void {}
  @Step()
  book(ctx: StepContext<string>): string {
    tokens.push(ctx.fencingToken);
    return `${ctx.tags.carrier} for ${ctx.tags.tenant}`;
  }
}

export const peopleSagas = [GrantLoanSaga, ShipSaga];

export async function quorumAndTasks(sagas: SagaService): Promise<void> {
  const first = await sagas.start(GrantLoanSaga, 1, { tags: { team: 'risk' } });
  await eventually(async () => assert.equal((await sagas.get(first.id)).waitingFor?.kind, 'approval'));
  const second = await sagas.start(GrantLoanSaga, 2, { tags: { team: 'risk' } });
  await eventually(async () => assert.equal((await sagas.get(second.id)).waitingFor?.kind, 'approval'));
  const filter = { saga: GrantLoanSaga, step: 'grant', tags: { team: 'risk' } };
  const page = await sagas.tasks({ ...filter, limit: 1 });
  assert.deepEqual(
    page.items.map(({ id }) => id),
    [first.id],
  );
  const rest = await sagas.tasks({ ...filter, limit: 1, cursor: page.next });
  assert.deepEqual(
    rest.items.map(({ id, quorum }) => [id, quorum]),
    [[second.id, 2]],
  );
  assert.equal((await sagas.tasks({ ...filter, tags: { team: 'sales' } })).items.length, 0);
  await sagas.approve(first.id, 'grant', { by: 'ann' });
  await assert.rejects(sagas.approve(first.id, 'grant', { by: 'ann' }), SagaStateError);
  const [task] = (await sagas.tasks(filter)).items;
  assert.deepEqual(
    task!.approvals.map(({ by }) => by),
    ['ann'],
  );
  await sagas.approve(first.id, 'grant', { by: 'bob' });
  assert.deepEqual((await first.outcome()).results.grant, ['ann', 'bob']);
  await sagas.reject(second.id, 'grant', { by: 'ann' });
  assert.equal((await second.outcome()).failure?.kind, 'rejected');
  assert.equal((await sagas.tasks(filter)).items.length, 0);
}

export async function tagsTokensAndNames(sagas: SagaService): Promise<void> {
  const { id, outcome } = await sagas.start('ship', 'dhl', { tags: { tenant: 'acme', draft: 'yes' } });
  const { items } = await eventually(async () => {
    const page = await sagas.find({ tags: { carrier: 'dhl' }, waitingFor: 'go', step: 'go' });
    assert.equal(page.items.length, 1);
    return page;
  });
  assert.deepEqual(items[0]!.tags, { tenant: 'acme', carrier: 'dhl' });
  await sagas.signal(id, 'go');
  const { results } = await outcome();
  assert.deepEqual(results, { choose: 'dhl undefined', go: undefined, book: 'dhl for acme' });
  assert.equal(typeof tokens[0], 'bigint');
  assert.ok(tokens[1]! > tokens[0]!);
}
