import { once } from 'node:events';
import { Saga, Step, type StepContext } from 'nestjs-durable-saga';
import { Participants } from './participants.js';
import { report } from './report.js';

/** A saga whose second step can be held up where a test wants it. */
@Saga({ name: 'held' })
export class HeldSaga {
  constructor(private readonly participants: Participants) {}

  @Step()
  first(ctx: StepContext<{ hold: boolean }>): Promise<{ receipt: string }> {
    return this.participants.apply({ ...pick(ctx), compensation: false });
  }

  /**
   * The first process that runs this step holds it until it receives a stop. The others finish it
   * immediately.
   */
  @Step()
  async second(ctx: StepContext<{ hold: boolean }>): Promise<{ by: number; attempt: number }> {
    ctx.signal.addEventListener('abort', () =>
      report({ type: 'aborted', reason: String(ctx.signal.reason) }),
    );
    report({ type: 'in-step', pid: process.pid });
    if (ctx.input.hold && ctx.attempt === 1) await once(ctx.signal, 'abort');
    await this.participants.apply({ ...pick(ctx), compensation: false });
    report({ type: 'step-returned', pid: process.pid });
    return { by: process.pid, attempt: ctx.attempt };
  }

  @Step()
  third(ctx: StepContext<{ hold: boolean }>): Promise<{ receipt: string }> {
    return this.participants.apply({ ...pick(ctx), compensation: false });
  }
}

type Call = Pick<StepContext, 'idempotencyKey' | 'sagaId' | 'step'>;

function pick({ idempotencyKey, sagaId, step }: Call): Call {
  return { idempotencyKey, sagaId, step };
}
