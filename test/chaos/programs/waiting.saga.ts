import {
  type CompensationContext,
  Saga,
  Step,
  type StepContext,
  StepRejectedError,
  WaitFor,
} from 'nestjs-durable-saga';
import { Participants } from './participants.js';

export interface WaitingInput {
  n: number;
  /** The first call that a reply leads to applies its effect and never returns. */
  held?: boolean;
}

export interface Reply {
  /** The number of the reply to a saga: 1 or 2. */
  reply: number;
  refused?: boolean;
}

/**
 * Asks, waits for two replies of one name, and reports the result. Each effect and each message happens once.
 */
@Saga({ name: 'waiting', compensationRetry: { attempts: 10, delay: 20 } })
export class WaitingSaga {
  constructor(private readonly participants: Participants) {}

  @Step({ compensate: 'undo' })
  async ask(ctx: StepContext<WaitingInput>): Promise<void> {
    ctx.publish({ topic: 'asked', payload: ctx.input.n });
    await this.call(ctx);
  }

  @WaitFor({ signal: 'reply', compensate: 'undo' })
  async first(ctx: StepContext<WaitingInput>, { reply }: Reply): Promise<{ reply: number }> {
    await this.call(ctx, ctx.input.held);
    return { reply };
  }

  @WaitFor({ signal: 'reply', compensate: 'undo' })
  async second(
    ctx: StepContext<WaitingInput>,
    { reply, refused = false }: Reply,
  ): Promise<{ reply: number }> {
    if (refused) throw new StepRejectedError('refused');
    await this.call(ctx);
    return { reply };
  }

  @Step()
  async tell(ctx: StepContext<WaitingInput>): Promise<void> {
    ctx.publish({ topic: 'done', payload: ctx.input.n });
    await this.call(ctx);
  }

  async undo(ctx: CompensationContext<WaitingInput, unknown>): Promise<void> {
    if (ctx.step === 'ask') ctx.publish({ topic: 'undone', payload: ctx.input.n });
    const { idempotencyKey, sagaId, step } = ctx;
    await this.participants.apply({ idempotencyKey, sagaId, step, compensation: true });
  }

  private async call(
    { idempotencyKey, sagaId, step }: StepContext<WaitingInput>,
    held?: boolean,
  ): Promise<void> {
    await this.participants.apply({ idempotencyKey, sagaId, step, compensation: false, held });
  }
}
