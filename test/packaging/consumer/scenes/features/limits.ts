import assert from 'node:assert/strict';
import {
  Saga,
  SagaConflictError,
  type SagaService,
  Step,
  type StepContext,
  WaitFor,
} from 'nestjs-durable-saga';
import { eventually, gate } from '../eventually.js';

interface Work {
  tenant: string;
}
const tenant = (ctx: { readonly input: Work }) => ctx.input.tenant;

/** How many run at once, of each tenant. */
class Running {
  private readonly now = new Map<string, number>();
  readonly most = new Map<string, number>();
  readonly door = gate();
  async during(key: string): Promise<void> {
    const count = (this.now.get(key) ?? 0) + 1;
    this.now.set(key, count);
    this.most.set(key, Math.max(count, this.most.get(key) ?? 0));
    await this.door.opened;
    this.now.set(key, this.now.get(key)! - 1);
  }
}

const ofSagas = new Running();
const ofSteps = new Running();
const ofAll = new Running();

@Saga({ limit: { count: 1, key: tenant } })
class SlotsSaga {
  @Step()
  run(ctx: StepContext<Work>): Promise<void> {
    return ofSagas.during(ctx.input.tenant);
  }
}

@Saga()
class StepSlotsSaga {
  @Step({ limit: { count: 1, key: tenant } })
  run(ctx: StepContext<Work>): Promise<void> {
    return ofSteps.during(ctx.input.tenant);
  }
}

@Saga({ limit: 1 })
class OneSaga {
  @Step({ forEach: () => [1, 2, 3], itemsAtOnce: 2 })
  run(): Promise<void> {
    return ofAll.during('all');
  }
}

@Saga({ rateLimit: { count: 1, per: '1h', key: tenant } })
class RateSaga {
  @Step()
  run(_ctx: StepContext<Work>): void {}
}

@Saga()
class StepRateSaga {
  @Step({ rateLimit: { count: 1, per: '1h', key: tenant } })
  run(_ctx: StepContext<Work>): void {}
}

@Saga({ lockKey: ({ input }: { input: Work }) => input.tenant, lockMode: 'reject' })
class ExclusiveSaga {
  @WaitFor({ signal: 'end' })
  hold(_ctx: StepContext<Work>): void {}
}

export const limitSagas = [SlotsSaga, StepSlotsSaga, OneSaga, RateSaga, StepRateSaga, ExclusiveSaga];

export async function slots(sagas: SagaService): Promise<void> {
  for (const [saga, running, step] of [
    [SlotsSaga, ofSagas, undefined],
    [StepSlotsSaga, ofSteps, 'run'],
  ] as const) {
    const handles = await Promise.all(['a', 'a', 'a', 'b'].map((tenant) => sagas.start(saga, { tenant })));
    await eventually(() => assert.deepEqual([...running.most.keys()].toSorted(), ['a', 'b']));
    const waits = await eventually(async () => {
      const states = await Promise.all(handles.map(({ id }) => sagas.get(id)));
      const found = states.flatMap(({ waitingFor }) => (waitingFor ? [waitingFor] : []));
      assert.equal(found.length, 2);
      return found;
    });
    for (const wait of waits)
      assert.ok(wait.kind === 'limit' && wait.key === 'a' && wait.step === step && wait.limit === 1);
    running.door.open();
    for (const handle of handles) assert.equal((await handle.outcome()).status, 'completed');
    assert.deepEqual(Object.fromEntries(running.most), { a: 1, b: 1 });
  }
}

export async function numbers(sagas: SagaService): Promise<void> {
  const handles = await Promise.all([1, 2].map(() => sagas.start(OneSaga, undefined)));
  await eventually(() => assert.equal(ofAll.most.get('all'), 2));
  await eventually(async () => {
    const kinds = await Promise.all(handles.map(async ({ id }) => (await sagas.get(id)).waitingFor?.kind));
    assert.ok(kinds.includes('limit'));
  });
  ofAll.door.open();
  for (const handle of handles) assert.equal((await handle.outcome()).status, 'completed');
  assert.equal(ofAll.most.get('all'), 2);
}

export async function rates(sagas: SagaService): Promise<void> {
  for (const [saga, step] of [
    [RateSaga, undefined],
    [StepRateSaga, 'run'],
  ] as const) {
    const handles = await Promise.all(['a', 'a', 'b'].map((tenant) => sagas.start(saga, { tenant })));
    await eventually(async () => {
      const states = await Promise.all(handles.map(({ id }) => sagas.get(id)));
      assert.equal(states.filter(({ status }) => status === 'completed').length, 2);
      const late = states.find(({ status }) => status === 'running')!;
      assert.ok(late.waitingFor?.kind === 'rate-limit');
      const { key, step: limited, until } = late.waitingFor;
      assert.deepEqual([key, limited], ['a', step]);
      assert.ok(until.getTime() > Date.now() + 3_000_000);
    });
  }
}

export async function lockModeReject(sagas: SagaService): Promise<void> {
  const holder = await sagas.start(ExclusiveSaga, { tenant: 'a' });
  await assert.rejects(sagas.start(ExclusiveSaga, { tenant: 'a' }), (error) => {
    assert.ok(error instanceof SagaConflictError);
    return error.sagaId === holder.id;
  });
  await sagas.signal(holder.id, 'end');
  assert.equal((await holder.outcome()).status, 'completed');
  await sagas.start(ExclusiveSaga, { tenant: 'a' });
}
