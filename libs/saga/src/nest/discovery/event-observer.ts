import type { ObservedEvent, ObservedEventType } from '../../definition/types/observed-event.js';
import type { EngineLog } from '../../engine/ports/engine-log.js';
import { isolated } from '../../shared/own-context.js';
import { serializeError } from '../../engine/payload/serialize-error.js';
import type { WorkInProgress } from '../life-cycle/work-in-progress.js';

/** Calls of one observer that may be in progress at once; an observer that hangs must not fill the memory. */
export const MOST_CALLS = 1_000;

export interface EventObserverPorts {
  readonly log: EngineLog;
  /** What the shutdown waits for. */
  readonly work: WorkInProgress;
}

/** A method that is notified of events, kept apart from the engine: nothing waits for it, and nothing it does comes through. */
export class EventObserver {
  private readonly types: ReadonlySet<ObservedEventType>;
  private inProgress = 0;
  private dropped = 0;

  constructor(
    /** In the words of the log: `AlertService.onStuck`. */
    private readonly where: string,
    types: readonly ObservedEventType[],
    /** The saga that is observed, in all its versions. Undefined: every saga. */
    private readonly saga: string | undefined,
    private readonly call: (event: ObservedEvent) => unknown,
    private readonly ports: EventObserverPorts,
  ) {
    this.types = new Set(types);
  }

  observe(event: ObservedEvent): void {
    if (!this.types.has(event.type) || (this.saga !== undefined && this.saga !== event.saga)) return;
    if (this.inProgress >= MOST_CALLS) return this.drop();
    try {
      const answer = isolated(() => this.call(event));
      if (isThenable(answer)) this.ports.work.track(this.settled(event, answer));
    } catch (error) {
      this.failed(event, error);
    }
  }

  private async settled(event: ObservedEvent, answer: PromiseLike<unknown>): Promise<void> {
    this.inProgress += 1;
    try {
      await answer;
    } catch (error) {
      this.failed(event, error);
    } finally {
      this.inProgress -= 1;
      this.tellDropped();
    }
  }

  private failed({ type, saga, id: sagaId }: ObservedEvent, error: unknown): void {
    const { message, stack } = serializeError(error);
    const line = `Observer ${this.where} failed at '${type}' of saga ${sagaId} (${saga}): ${message}`;
    this.ports.log.error(line, stack, { sagaId, saga });
  }

  private drop(): void {
    if (this.dropped === 0) {
      this.ports.log.warn(
        `Observer ${this.where} has ${MOST_CALLS} calls in progress. Further events are dropped until one of them ends`,
      );
    }
    this.dropped += 1;
  }

  private tellDropped(): void {
    if (this.dropped === 0) return;
    this.ports.log.warn(`Observer ${this.where} missed ${this.dropped} event(s) in the meantime`);
    this.dropped = 0;
  }
}

/** Whatever a user's method returns may be a proxy; what throws here is the method's failure. */
function isThenable(answer: unknown): answer is PromiseLike<unknown> {
  return typeof (answer as PromiseLike<unknown> | null | undefined)?.then === 'function';
}
