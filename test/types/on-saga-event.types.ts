/** What @OnSagaEvent checks. Compiled with the tests' type check; there is nothing to run. */
import { type ObservedEvent, type ObservedEventType, OnSagaEvent, Saga } from 'nestjs-durable-saga';
import type { Equal, Expect } from './expect.js';

@Saga()
export class ObservedSaga {}

export class Alerts {
  @OnSagaEvent('stuck')
  stuck({ id, steps, error, failure }: ObservedEvent<'stuck'>): string {
    return `${id} ${steps.join(', ')} ${error?.message} ${failure?.kind}`;
  }

  @OnSagaEvent(['completed', 'compensated'], ObservedSaga)
  async ended(event: ObservedEvent<'completed' | 'compensated'>): Promise<void> {
    if (event.type === 'compensated') await Promise.resolve(event.failure?.reason);
  }

  @OnSagaEvent('step-failed')
  anything({ type, saga, at }: ObservedEvent): string {
    return `${type} ${saga} ${at.toISOString()}`;
  }

  @OnSagaEvent('paused')
  nothing(): void {}

  // @ts-expect-error -- no such event
  @OnSagaEvent('finished')
  unknown(): void {}

  // @ts-expect-error -- a saga that completed has no failed steps
  @OnSagaEvent(['completed', 'stuck'])
  tooLittle(event: ObservedEvent<'stuck'>): number {
    return event.steps.length;
  }
}

export type Checked = [
  Expect<Equal<ObservedEvent['type'], ObservedEventType>>,
  Expect<Equal<ObservedEvent<'step-failed'>['retryAt'], Date | undefined>>,
];
