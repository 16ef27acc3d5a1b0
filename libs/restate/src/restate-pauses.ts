import type {
  StepOfSaga,
  StepPauseStore,
  StoredStepPause,
  WakeupMessage,
  WhoAndWhy,
} from 'nestjs-durable-saga/internal/backend';
import { ALL, HINTS, PAUSES, type PauseCall, pauseKey, SAGA } from './contracts.js';
import type { RestateCalls } from './restate-calls.js';

/** Sagas that are made due at once. */
const AT_ONCE = 100;
const CHANGED: WakeupMessage = { type: 'pauses' };

/** Stores the pauses of steps in one object, with the sagas that rest for them. */
export class RestatePauses implements StepPauseStore {
  constructor(
    private readonly calls: RestateCalls,
    private readonly announce: (message: WakeupMessage) => void,
  ) {}

  async all(resumed: number): ReturnType<StepPauseStore['all']> {
    return this.calls.storeOf([], await this.stored()).pauses.all(resumed);
  }

  async stored(): Promise<readonly StoredStepPause[]> {
    return (await this.read()).pauses;
  }

  pause(step: StepOfSaga, who: WhoAndWhy): Promise<void> {
    return this.change('pause', step, who);
  }

  resume(step: StepOfSaga, who: WhoAndWhy): Promise<void> {
    return this.change('resume', step, who);
  }

  async wake({ saga, step }: StepOfSaga): Promise<void> {
    const { pauses, resting } = await this.read();
    const ended = pauses.filter(
      (pause) => pause.saga === saga && pause.step === step && pause.resumed && !pause.isOver,
    );
    for (const pause of ended) await this.resumeAll(pause, resting.get(pauseKey(pause)) ?? []);
    const { ingress } = this.calls.options;
    if (ended.length > 0) await ingress.client(PAUSES, ALL).over(ended.map(pauseKey), this.calls.opts);
  }

  private async resumeAll(pause: StoredStepPause, ids: readonly string[]): Promise<void> {
    const { ingress, now } = this.calls.options;
    for (let n = 0; n < ids.length; n += AT_ONCE)
      await Promise.all(
        ids
          .slice(n, n + AT_ONCE)
          .map((id) => ingress.client(SAGA, id).resumeStep({ pause, now: now() }, this.calls.opts)),
      );
  }

  private async change(method: PauseCall['method'], step: StepOfSaga, who: WhoAndWhy): Promise<void> {
    const { ingress, now } = this.calls.options;
    await ingress.client(PAUSES, ALL).change({ method, step, who, now: now() }, this.calls.opts);
    this.announce(CHANGED);
    const workers = await this.calls.keysOf('DurableSagaHints');
    const { sendOpts } = this.calls;
    await Promise.allSettled(
      workers.map((worker) => ingress.sendClient(HINTS, worker).put(CHANGED, sendOpts)),
    );
  }

  private read() {
    return this.calls.options.ingress.client(PAUSES, ALL).read(this.calls.opts);
  }
}
