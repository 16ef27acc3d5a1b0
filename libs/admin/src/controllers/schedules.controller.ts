import { Body, Get, Param, Post, Req } from '@nestjs/common';
import { SagaNotFoundError } from 'nestjs-durable-saga';
import type { ScheduleStatus } from 'nestjs-durable-saga/operators';
import { isKey, shown, withoutUndefined } from 'nestjs-durable-saga/internal';
import { askedAction } from '../admin-access.js';
import type { OperatorAction } from '../admin.options.js';
import { dto, field } from '../api-docs.js';
import { type ActionAnswer, ActionAnswerDto, OperatorDto } from '../dto/action.dto.js';
import { AdminController, Route } from '../route.js';
import { readBody } from '../read-request.js';

/** A schedule, and what the operator who looks may do with it. */
export interface AdminSchedule extends ScheduleStatus {
  readonly actions: readonly ScheduleAction[];
}

const ACTIONS = ['pause', 'resume', 'trigger'] as const satisfies OperatorAction[];
type ScheduleAction = (typeof ACTIONS)[number];

const ScheduleDto = dto<AdminSchedule>('ScheduleDto', {
  saga: field.text('The name of the saga that it starts.'),
  cron: field.text(undefined, '0 2 * * *'),
  timezone: field.text(undefined, 'Europe/Berlin'),
  overlap: field.oneOf(['skip', 'queue', 'allow']),
  catchUp: field.oneOf(['none', 'last', 'all']),
  next: field.optional(field.time('Absent while it is paused.')),
  last: field.optional(
    field.record('The saga that was started last: sagaId, at, triggered, and its status until it has ended.'),
  ),
  skippedAt: field.optional(
    field.time('The last time at which no saga was started because an earlier one had not ended.'),
  ),
  paused: field.optional(field.record('Present while it is paused: at, by, reason.')),
  actions: field.texts('The actions that this operator may take now.'),
});

const TriggeredDto = dto<{ id: string }>('TriggeredDto', { id: field.text('The id of the saga.') });

/** A call on a schedule. */
const SCHEDULE_CALL = {
  params: { saga: 'The name of the saga.' },
  ...{ body: OperatorDto, answer: ActionAnswerDto, errors: [400, 404, 415] },
};

/** The schedules of sagas. */
export class AdminSchedulesController extends AdminController {
  @Get()
  @Route({ summary: 'Returns the schedules, with their last and next runs', answer: [ScheduleDto] })
  async list(@Req() request: unknown): Promise<AdminSchedule[]> {
    await this.access.demand({ kind: 'look' }, request);
    const all = await this.admin.schedules.list();
    const visible = await this.access.visible(all, ({ saga }) => saga, request);
    return Promise.all(visible.map(async (one) => ({ ...one, actions: await this.actionsOn(one, request) })));
  }

  @Post(':saga/pause')
  @Route({
    summary: 'Pauses a schedule: it starts no saga until it is resumed',
    ...SCHEDULE_CALL,
  })
  async pause(
    @Param('saga') saga: string,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<ActionAnswer> {
    const { by, reason } = await this.allowed('pause', saga, body, request);
    const operator = await this.access.operator(request, by);
    await this.admin.schedules.pause(saga, withoutUndefined({ by: operator, reason: reason as string }));
    return { done: true };
  }

  @Post(':saga/resume')
  @Route({
    summary: 'Resumes a paused schedule, from its next time',
    ...SCHEDULE_CALL,
  })
  async resume(
    @Param('saga') saga: string,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<ActionAnswer> {
    await this.allowed('resume', saga, body, request);
    await this.admin.schedules.resume(saga);
    return { done: true };
  }

  @Post(':saga/trigger')
  @Route({
    summary: 'Starts the saga of a schedule now, beside its times',
    ...{ ...SCHEDULE_CALL, answer: TriggeredDto, errors: [400, 404, 409, 415] },
  })
  async trigger(
    @Param('saga') saga: string,
    @Body() body: unknown,
    @Req() request: unknown,
  ): Promise<{ id: string }> {
    await this.allowed('trigger', saga, body, request);
    const { id } = await this.access.concealing(() => this.admin.schedules.trigger(saga), request);
    return { id };
  }

  private async allowed(kind: ScheduleAction, saga: string, body: unknown, request: unknown) {
    // The same answer for a name that no saga has, and for one that may not be seen.
    const known = isKey(saga) && (await this.admin.schedules.list()).some((one) => one.saga === saga);
    if (!known || !(await this.access.may({ kind: 'look', saga }, request))) {
      await this.access.demand(askedAction(kind, body), request);
      readBody(body, ['by', 'reason']);
      throw new SagaNotFoundError(`No schedule of a saga named ${shown(saga)} exists.`);
    }
    await this.access.demand({ ...askedAction(kind, body), saga }, request);
    return readBody(body, ['by', 'reason']);
  }

  /** Only an application that has the saga can start it. */
  private async actionsOn({ saga, paused }: ScheduleStatus, request: unknown): Promise<ScheduleAction[]> {
    const { registry } = await this.admin.ready();
    const isHere = registry.all.some(({ graph }) => graph.name === saga && graph.schedule !== undefined);
    const possible = ACTIONS.filter((kind) =>
      kind === 'trigger' ? isHere : (kind === 'resume') === (paused !== undefined),
    );
    const may = await Promise.all(possible.map((kind) => this.access.may({ kind, saga }, request)));
    return possible.filter((_, n) => may[n]);
  }
}
