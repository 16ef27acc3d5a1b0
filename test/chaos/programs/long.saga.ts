import { once } from 'node:events';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Saga, Step, type StepContext } from 'nestjs-durable-saga';
import { Participants } from './participants.js';
import { report } from './report.js';

/** Reports when this process destroys its providers. */
@Injectable()
export class DestroyReport implements OnModuleDestroy {
  onModuleDestroy(): void {
    report({ type: 'destroyed' });
  }
}

/** A saga whose first step takes as long as the test wants, with an effect before that time and one after it. */
@Saga({ name: 'long' })
export class LongSaga {
  constructor(private readonly participants: Participants) {}

  @Step()
  async work(ctx: StepContext): Promise<{ attempt: number }> {
    const { attempt, idempotencyKey } = ctx;
    await this.apply(ctx, 'begin');
    report({ type: 'working', attempt, idempotencyKey });
    if (attempt === 1) await toldToFinish();
    await this.apply(ctx, 'end');
    report({ type: 'worked' });
    return { attempt };
  }

  @Step()
  async confirm(ctx: StepContext): Promise<void> {
    await this.apply(ctx, 'confirm');
    report({ type: 'confirmed' });
  }

  private async apply({ idempotencyKey, sagaId, step }: StepContext, effect: string): Promise<void> {
    await this.participants.apply({
      ...{ idempotencyKey: `${idempotencyKey}/${effect}`, sagaId, step },
      compensation: false,
    });
  }
}

async function toldToFinish(): Promise<void> {
  for (;;) {
    const [{ type }] = (await once(process, 'message')) as [{ type: string }];
    if (type === 'finish') return;
  }
}
