import type { CompensationContext, StepContext } from '../../libs/saga/src/index.js';

/** What happened, in order; `ship[2]` is an item of a fan-out. */
export const journal: string[] = [];
beforeEach(() => {
  journal.length = 0;
});

/** For sagas whose steps write down that they ran, and that they were undone. */
export abstract class Journalled {
  protected note(ctx: StepContext, result: unknown = undefined): unknown {
    journal.push(ctx.index === undefined ? ctx.step : `${ctx.step}[${ctx.index}]`);
    return result;
  }

  async undo(ctx: CompensationContext): Promise<void> {
    journal.push(`undo ${ctx.index === undefined ? ctx.step : `${ctx.step}[${ctx.index}]`}`);
  }
}
