import { Injectable } from '@nestjs/common';
import {
  type CompensationContext,
  type HandlerCompensationContext,
  type HandlerContext,
  type RemoteInput,
  RemoteStep,
  Saga,
  Step,
  type StepContext,
  StepHandler,
  StepRejectedError,
} from 'nestjs-durable-saga';
import { Participants } from './participants.js';

export interface RemoteOrder {
  n: number;
  /** The last step refuses it: everything has to be undone. */
  refused: boolean;
  /** The first call of this step, or of its undoing (`undo reserve`), holds the process until that is killed. */
  held?: string;
}

type Done = { receipt: string; by: number };

const PATIENT = { retry: { attempts: 5, delay: 30 }, compensationRetry: { attempts: 20, delay: 30 } };

/** What steps and handlers have in common: they call a participant, and say in which process. */
abstract class Calling {
  constructor(private readonly participants: Participants) {}

  protected async call(ctx: Pick<StepContext<RemoteOrder>, Called>): Promise<Done> {
    const { idempotencyKey, sagaId, step, input } = ctx;
    const call = { idempotencyKey, sagaId, step, compensation: false, held: input.held === step };
    return { ...(await this.participants.apply(call)), by: process.pid };
  }

  async undo(ctx: Pick<CompensationContext<RemoteOrder, Done>, Called | 'result'>): Promise<void> {
    const { idempotencyKey, sagaId, step, input } = ctx;
    const held = input.held === `undo ${step}`;
    // For the test to see where it was undone.
    const knownResult = String(process.pid);
    await this.participants.apply({ idempotencyKey, sagaId, step, compensation: true, held, knownResult });
  }
}
type Called = 'idempotencyKey' | 'sagaId' | 'step' | 'input';

/** In processes of their own. */
@Injectable()
export class ChaosStockHandlers extends Calling {
  constructor(participants: Participants) {
    super(participants);
  }

  @StepHandler('chaos.reserve', { compensate: 'release', ...PATIENT })
  reserve(ctx: HandlerContext<RemoteOrder>): Promise<Done> {
    return this.call(ctx);
  }
  release(ctx: HandlerCompensationContext<RemoteOrder, Done>): Promise<void> {
    return this.undo(ctx);
  }
}

@Saga({ name: 'remote-order', ...PATIENT })
export class RemoteOrderSaga extends Calling {
  constructor(participants: Participants) {
    super(participants);
  }

  @Step({ compensate: 'undo' })
  pay(ctx: StepContext<RemoteOrder>): Promise<Done> {
    return this.call(ctx);
  }

  @RemoteStep('chaos.reserve')
  reserve(ctx: StepContext<RemoteOrder>): RemoteInput<ChaosStockHandlers['reserve']> {
    return ctx.input;
  }

  @Step({ compensate: 'undo' })
  confirm(ctx: StepContext<RemoteOrder>): Promise<Done> {
    if (ctx.input.refused) throw new StepRejectedError('refused');
    return this.call(ctx);
  }
}
