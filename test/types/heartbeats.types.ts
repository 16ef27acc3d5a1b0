/** What a step reports of itself, and what `watch()` returns. Compiled with the tests' type check; there is nothing to run. */
import {
  type CompensationContext,
  type HandlerContext,
  type HeartbeatContext,
  Saga,
  type SagaService,
  Step,
  type StepContext,
  StepHandler,
  WaitFor,
} from 'nestjs-durable-saga';
import type { Observable } from 'rxjs';
import type { Equal, Expect } from './expect.js';

interface Position {
  line: number;
  at: Date;
}

@Saga()
export class ImportSaga {
  @Step({ heartbeat: '30s', compensate: 'remove' })
  async load(ctx: HeartbeatContext<{ file: string }, Position, ImportSaga>): Promise<number> {
    void (0 as unknown as Expect<Equal<typeof ctx.lastHeartbeat, { line: number; at: string } | undefined>>);
    await ctx.heartbeat({ line: 1, at: new Date() });
    await ctx.heartbeat();
    // @ts-expect-error -- other details
    await ctx.heartbeat({ line: 'one' });
    ctx.progress({ percent: 12.5, message: 'line 1' });
    // @ts-expect-error -- no such option
    ctx.progress({ percentage: 1 });
    return ctx.results.check;
  }
  async remove(ctx: CompensationContext<{ file: string }, number>): Promise<void> {
    ctx.progress({ message: 'removing' });
    await ctx.heartbeat('half');
  }
  @Step({ after: 'load', heartbeat: 5_000 })
  check(ctx: StepContext<{ file: string }>): number {
    return (ctx.lastHeartbeat as Position | undefined)?.line ?? 0;
  }
  // @ts-expect-error -- a wait has no heartbeat
  @WaitFor({ signal: 'go', heartbeat: '1s' }) go() {}
}

export class Handlers {
  @StepHandler('load-rows', { heartbeat: '1m' })
  load(ctx: HandlerContext<{ file: string }>): void {
    ctx.progress({ percent: 1 });
  }
}

export async function watching(sagas: SagaService): Promise<void> {
  const updates = sagas.watch({ saga: ImportSaga, correlationId: 'a' });
  const stream: Observable<{ id: string; data: object }> = updates;
  for await (const { data } of updates) {
    void (0 as unknown as Expect<Equal<typeof data.input, { file: string }>>);
    for (const step of data.steps) if (step.name === 'load') step.result?.toFixed();
  }
  for await (const { data } of sagas.watch('id')) {
    void (data.input satisfies unknown);
    // @ts-expect-error -- of an unknown class
    void data.input.file;
  }
  void stream;
}
