import { Body, Get, Param, Post, Query, Req } from '@nestjs/common';
import type { Page } from 'nestjs-durable-saga';
import type { PausedStep } from 'nestjs-durable-saga/operators';
import { withoutUndefined } from 'nestjs-durable-saga/internal';
import { askedAction } from '../admin-access.js';
import { dto, field } from '../api-docs.js';
import { type ActionAnswer, ActionAnswerDto, OperatorDto } from '../dto/action.dto.js';
import { AdminController, Route } from '../route.js';
import { readBody } from '../read-request.js';

/** A paused step, and what the operator who looks may do with it. */
export interface AdminPausedStep extends PausedStep {
  readonly actions: readonly 'resumeStep'[];
}

const PausedStepsDto = dto<Pick<Page<AdminPausedStep>, 'items' | 'unreachable'>>('PausedStepsDto', {
  items: field.list(
    dto<AdminPausedStep>('PausedStepDto', {
      saga: field.text('The name of the saga.'),
      step: field.text('The name of the step.'),
      since: field.time(),
      by: field.optional(field.text('The operator who paused it.')),
      reason: field.optional(field.text()),
      resumed: field.optional(field.record('Present once it was resumed: at, by, reason.')),
      shards: field.optional(field.texts('In an application with shards: those on which it is paused.')),
      actions: field.texts('The actions that this operator may take now.'),
    }),
  ),
  unreachable: field.optional(field.texts('The shards that could not be reached: their pauses are missing.')),
});

/** A call on a step. */
const STEP_CALL = {
  params: { saga: 'The name of the saga.', step: 'The name of the step.' },
  ...{ body: OperatorDto, answer: ActionAnswerDto, errors: [400, 404, 415] },
};
/** So many pauses that are over, at most. */
const MOST_RESUMED = 100;

/** The steps that are paused for all sagas of a name. */
export class AdminPausedStepsController extends AdminController {
  @Get()
  @Route({
    summary: 'Returns the paused steps; with `?resumed=true` also the last pauses that are over',
    answer: PausedStepsDto,
  })
  async list(@Query('resumed') resumed: unknown, @Req() request: unknown): Promise<Page<AdminPausedStep>> {
    await this.access.demand({ kind: 'look' }, request);
    const page = await this.admin.operations.pausedSteps({ resumed: resumed === 'true' ? MOST_RESUMED : 0 });
    const visible = await this.access.visible(page.items, ({ saga }) => saga, request);
    const items = visible.map(async (one) => ({ ...one, actions: await this.actionsOn(one, request) }));
    return { ...page, items: await Promise.all(items) };
  }

  @Post(':saga/:step/pause')
  @Route({
    summary: 'Pauses a step of all sagas of a name: no attempt of it begins until it is resumed',
    ...STEP_CALL,
  })
  async pause(
    @Param() { saga, step }: Record<'saga' | 'step', string>,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<ActionAnswer> {
    await this.access.demand({ ...askedAction('pauseStep', body), saga, step }, request);
    await this.admin.operations.pauseStep(saga, step, await this.whoOf(body, request));
    return { done: true };
  }

  @Post(':saga/:step/resume')
  @Route({
    summary: 'Resumes a paused step: the sagas that wait for it continue',
    ...STEP_CALL,
  })
  async resume(
    @Param() { saga, step }: Record<'saga' | 'step', string>,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<ActionAnswer> {
    await this.access.demand({ ...askedAction('resumeStep', body), saga, step }, request);
    await this.admin.operations.resumeStep(saga, step, await this.whoOf(body, request));
    return { done: true };
  }

  private async whoOf(body: unknown, request: unknown): Promise<{ by?: string; reason?: string }> {
    const { by, reason } = readBody(body, ['by', 'reason']);
    return withoutUndefined({ by: await this.access.operator(request, by), reason: reason as string });
  }

  private async actionsOn({ saga, step, resumed }: PausedStep, request: unknown): Promise<'resumeStep'[]> {
    if (resumed) return [];
    return (await this.access.may({ kind: 'resumeStep', saga, step }, request)) ? ['resumeStep'] : [];
  }
}
