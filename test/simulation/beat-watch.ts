import type { StepAbortedError } from '../../libs/saga/src/errors.js';
import type { CallContext } from './effect.js';
import type { Life, Timeline } from './timeline.js';

/** How wrong the clock of a process may be, and how late it may look. */
const [PACE, SLACK] = [0.005, 10] as const;

/** Sees to it that an attempt without a heartbeat for so long is aborted, and no other one is for that reason. */
export class BeatWatch {
  private isOver = false;
  private beatAt: number;
  /** When it looks next. */
  private lookAt = Infinity;
  /** When it looked too late last, because the process was stopped. */
  private wokeAt = -Infinity;

  /** @param limit milliseconds between two heartbeats; undefined: it does not need any */
  constructor(
    private readonly timeline: Timeline,
    private readonly of: {
      readonly limit: number | undefined;
      readonly ctx: CallContext;
      readonly life: Life;
    },
    private readonly violate: (what: string) => void,
  ) {
    this.beatAt = timeline.now;
    of.ctx.signal.addEventListener('abort', () => this.aborted());
    if (of.limit !== undefined) this.look(of.limit * (1 + PACE) + SLACK);
  }

  /** False: nothing waits for the attempt any more. */
  get isInProgress(): boolean {
    return !this.isOver && !this.of.ctx.signal.aborted;
  }

  beat(): void {
    this.beatAt = this.timeline.now;
  }

  /** The method has returned, or failed. */
  over(): void {
    this.isOver = true;
  }

  private aborted(): void {
    const { ctx, limit } = this.of;
    const { trigger } = ctx.signal.reason as StepAbortedError;
    const silence = this.timeline.now - this.beatAt;
    const wasStopped = this.wokeAt > this.beatAt || this.timeline.now > this.lookAt + 1;
    if (trigger !== 'heartbeat' || wasStopped) return;
    if (this.isOver || limit === undefined || silence < limit * (1 - PACE) - SLACK)
      this.violate(
        `it is lost ${silence.toFixed(0)} ms after its heartbeat, and may be silent for ${limit ?? 'ever'}`,
      );
  }

  private look(wait: number): void {
    const { timeline, of } = this;
    const lookAt = (this.lookAt = timeline.now + wait);
    timeline.after(
      wait,
      () => {
        if (!this.isInProgress) return;
        // Stopped meanwhile, the process has to look as well.
        if (timeline.now > lookAt + 1) {
          this.wokeAt = timeline.now;
          return this.look(SLACK);
        }
        const left = this.beatAt + of.limit! * (1 + PACE) + SLACK - timeline.now;
        if (left > 0) return this.look(left);
        this.violate(`no heartbeat for ${(timeline.now - this.beatAt).toFixed(0)} ms, and it goes on`);
      },
      of.life,
    );
  }
}
