import { setTimeout as pause } from 'node:timers/promises';
import { type HeartbeatContext, Saga, Step } from 'nestjs-durable-saga';
import { report } from './report.js';

/** A saga whose only step works line by line, and continues after the last line that it has reported. */
@Saga({ name: 'resuming' })
export class ResumingSaga {
  @Step({ heartbeat: '1m' })
  async load(
    ctx: HeartbeatContext<{ lines: number }, { line: number }>,
  ): Promise<{ from: number; to: number }> {
    const from = ctx.lastHeartbeat?.line ?? 0;
    report({ type: 'loading', attempt: ctx.attempt, from });
    for (let line = from + 1; line <= ctx.input.lines; line += 1) {
      await ctx.heartbeat({ line });
      // The first attempt is slow enough to be killed in the middle.
      if (ctx.attempt === 1) await pause(1);
    }
    return { from, to: ctx.input.lines };
  }
}
