import { Get, Inject, Param, Query, Req, Sse, UseGuards } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { Page } from 'nestjs-durable-saga';
import type { RollbackPlan } from 'nestjs-durable-saga/operators';
import { MayLook } from '../may-look.guard.js';
import { AdminController, Route } from '../route.js';
import { DrawingDto, HistoryEntryDto, RollbackPlanDto, SagaDto, SagaPageDto } from '../dto/saga.dto.js';
import { PAGE_QUERY, parameter, readQuery, sagaOf } from '../read-request.js';
import {
  type AdminHistoryEntry,
  type AdminSaga,
  type AdminSummary,
  type SentSaga,
  SagaViews,
} from '../saga-views.js';
import type { SagaDrawing } from '../saga-drawing.js';

const LIST_QUERY = {
  saga: parameter.text('The name of a saga.'),
  status: parameter.statuses(),
  search: parameter.text('A complete id or a complete correlation id.'),
  tag: parameter.tags(),
  createdAfter: parameter.time('Created at this time or later.'),
  createdBefore: parameter.time('Created before this time.'),
  endedAfter: parameter.time('Ended at this time or later.'),
  endedBefore: parameter.time('Ended before this time.'),
  step: parameter.text('A step at which the saga stands: in progress, next, waiting or failed.'),
  waitingFor: parameter.text('The name of a signal that a step waits for.'),
  overdue: parameter.flag('Whether the saga is, or ended, past its `sla`.'),
  errorCode: parameter.text('The code of the error of the failure, or of a recent attempt.'),
  ...PAGE_QUERY,
};

/** The longest time (ms) for which a request waits for a saga. */
const LONGEST_WAIT = 60_000;
const WAIT_QUERY = {
  wait: parameter.duration(
    LONGEST_WAIT,
    'How long to wait for the end of the saga, 60s at most. Then the saga is returned as it is.',
  ),
};

/** Looking at sagas. */
export class AdminSagasController extends AdminController {
  @Inject(SagaViews) private readonly views!: SagaViews;

  /** Newest first, a page at a time; those that may not be looked at are left out of it. */
  @Get()
  @Route({
    summary: 'Lists sagas, newest first, one page at a time',
    query: LIST_QUERY,
    answer: SagaPageDto,
    errors: [400],
  })
  async list(@Query() query: unknown, @Req() request: unknown): Promise<Page<AdminSummary>> {
    await this.access.demand({ kind: 'look', ...sagaOf(query) }, request);
    const { search, tag: tags, endedAfter, endedBefore, ...given } = readQuery(LIST_QUERY, query);
    const filter = {
      ...{ ...given, tags },
      ...((endedAfter || endedBefore) && { endedAt: { from: endedAfter, to: endedBefore } }),
    };
    const page =
      search === undefined
        ? await this.admin.sagas.find(filter)
        : { items: await this.views.named(search.trim(), filter.limit) };
    const items = await this.access.visible(page.items, (summary) => summary.saga, request);
    return { ...page, items: await this.views.listed(items) };
  }

  @Get(':id')
  @Route({
    summary: 'Returns one saga, redacted. With `wait`, once it has ended or needs attention',
    params: { id: "The saga's id." },
    query: WAIT_QUERY,
    answer: SagaDto,
    errors: [400, 404],
  })
  async one(@Param('id') id: string, @Query() query: unknown, @Req() request: unknown): Promise<AdminSaga> {
    const { wait: timeout } = readQuery(WAIT_QUERY, query);
    if (timeout !== undefined) await this.views.settled(id, timeout, request);
    return this.views.saga(id, request);
  }

  @Sse(':id/events')
  @UseGuards(MayLook)
  @Route({
    summary:
      'Sends the saga as server-sent events: as it is now, then each later state, until it has ended. The newest state counts: those in between may be left out',
    params: { id: "The saga's id." },
    answer: SagaDto,
    errors: [404],
  })
  events(@Param('id') id: string, @Req() request: unknown): Observable<SentSaga> {
    return this.views.events(id, request);
  }

  @Get(':id/history')
  @Route({
    summary: 'Returns the operator actions on a saga, oldest first',
    params: { id: "The saga's id." },
    answer: [HistoryEntryDto],
    errors: [404],
  })
  history(@Param('id') id: string, @Req() request: unknown): Promise<AdminHistoryEntry[]> {
    return this.views.history(id, request);
  }

  @Get(':id/rollback')
  @Route({
    summary: 'Returns the compensations that cancelling or undoing a saga would run. Runs none of them',
    params: { id: "The saga's id." },
    answer: RollbackPlanDto,
    errors: [404, 409],
  })
  rollback(@Param('id') id: string, @Req() request: unknown): Promise<RollbackPlan> {
    return this.views.rollback(id, request);
  }

  @Get(':id/graph')
  @Route({
    summary: 'Returns the graph that a saga uses, with the positions of its steps',
    params: { id: "The saga's id." },
    answer: DrawingDto,
    errors: [404],
  })
  graph(@Param('id') id: string, @Req() request: unknown): Promise<SagaDrawing> {
    return this.views.drawing(id, request);
  }
}
