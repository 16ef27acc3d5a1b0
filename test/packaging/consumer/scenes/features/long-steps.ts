import assert from 'node:assert/strict';
import {
  type CompensationContext,
  type HeartbeatContext,
  Saga,
  type SagaService,
  type SagaUpdate,
  Step,
  type StepContext,
  StepRejectedError,
} from 'nestjs-durable-saga';
import { lastValueFrom, toArray } from 'rxjs';
import { eventually, gate } from '../eventually.js';

const seen: (number | undefined)[] = [];

@Saga()
class ImportSaga {
  @Step({ heartbeat: '1s', retry: { attempts: 2, delay: '10ms' } })
  async load(ctx: HeartbeatContext<unknown, { line: number }>): Promise<number> {
    seen.push(ctx.lastHeartbeat?.line);
    await ctx.heartbeat({ line: 41 + ctx.attempt });
    if (ctx.attempt === 1) await new Promise(() => {});
    return ctx.lastHeartbeat!.line;
  }
}

const halfway = gate();
const goOn = gate();

@Saga()
class ExportSaga {
  @Step()
  async write(ctx: StepContext): Promise<void> {
    ctx.progress({ percent: 50, message: 'half of it' });
    halfway.open();
    await goOn.opened;
  }
}

let compensations = 0;

@Saga()
class RefundSaga {
  @Step({
    compensate: 'refund',
    compensationReply: { signal: 'refunded', timeout: '1h' },
    compensationTimeout: '200ms',
    compensationRetry: { attempts: 3, delay: '10ms' },
  })
  pay(): void {}
  async refund(ctx: CompensationContext): Promise<void> {
    compensations += 1;
    if (ctx.attempt === 1) await new Promise(() => {});
  }
  @Step()
  deliver(): void {
    throw new StepRejectedError('out of stock');
  }
}

export const longStepSagas = [ImportSaga, ExportSaga, RefundSaga];

export async function heartbeats(sagas: SagaService): Promise<void> {
  const { id, outcome } = await sagas.start(ImportSaga, undefined);
  const { status, results } = await outcome({ timeout: '20s' });
  assert.deepEqual([status, results.load, seen], ['completed', 43, [undefined, 42]]);
  const { steps } = await sagas.get(id);
  assert.equal(steps[0]!.errors[0]!.code, 'SAGA_STEP_ABORTED');
}

export async function progressAndWatch(sagas: SagaService): Promise<void> {
  const { id } = await sagas.start(ExportSaga, undefined);
  const observed = lastValueFrom(sagas.watch<ExportSaga>(id).pipe(toArray()));
  const iterated: SagaUpdate<ExportSaga>[] = [];
  const iteration = (async () => {
    for await (const update of sagas.watch<ExportSaga>({ saga: ExportSaga, correlationId: id }))
      iterated.push(update);
  })();
  await halfway.opened;
  await eventually(async () => {
    const { progress } = (await sagas.get(id)).steps[0]!;
    assert.deepEqual([progress?.percent, progress?.message], [50, 'half of it']);
  });
  await eventually(() => assert.ok(iterated.some(({ data }) => data.steps[0]!.progress?.percent === 50)));
  goOn.open();
  const updates = await observed;
  await iteration;
  for (const list of [updates, iterated]) {
    assert.equal(list[0]!.data.status, 'running');
    assert.equal(list.at(-1)!.data.status, 'completed');
    assert.equal(list.at(-1)!.data.steps[0]!.progress, undefined);
  }
}

export async function confirmedCompensation(sagas: SagaService): Promise<void> {
  const { id, outcome } = await sagas.start(RefundSaga, undefined);
  await eventually(async () => {
    const { waitingFor, status } = await sagas.get(id);
    assert.equal(status, 'compensating');
    assert.ok(waitingFor?.kind === 'signal' && waitingFor.during === 'compensation');
  });
  assert.equal(compensations, 2);
  await sagas.signal(id, 'refunded');
  assert.equal((await outcome()).status, 'compensated');
}
