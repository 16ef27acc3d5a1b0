import { Get, Query, Req } from '@nestjs/common';
import type { Page } from 'nestjs-durable-saga';
import type { ApprovalTask, TaskApproval } from 'nestjs-durable-saga/operators';
import { DECISION_CALLS, type DecisionCall } from 'nestjs-durable-saga/internal';
import { dto, field } from '../api-docs.js';
import { AdminController, Route } from '../route.js';
import { PAGE_QUERY, parameter, readQuery, sagaOf } from '../read-request.js';

/** A step that waits for approval, and what the operator who looks may do with it. */
export interface AdminTask extends ApprovalTask {
  readonly actions: readonly DecisionCall[];
}

const TaskApprovalDto = dto<TaskApproval>('TaskApprovalDto', {
  by: field.text('The operator who approved.'),
  comment: field.optional(field.text()),
  at: field.time(),
});

const TaskDto = dto<AdminTask>('TaskDto', {
  id: field.text('The id of the saga.'),
  saga: field.text('The name of the saga.'),
  version: field.number(),
  correlationId: field.text(),
  tags: field.tags(),
  step: field.text('The step to approve or reject.'),
  since: field.time('Since when the step waits.'),
  until: field.optional(field.time('Absent if it waits without a limit.')),
  quorum: field.number('The number of operators who have to approve it.'),
  approvals: field.list(TaskApprovalDto, 'Those who have approved it, in their order.'),
  actions: field.texts('The actions that this operator may take now.'),
});

const TaskPageDto = dto<Omit<Page<AdminTask>, 'asOf'>>('TaskPageDto', {
  items: field.list(TaskDto),
  next: field.optional(field.text('The `cursor` of the next page. Absent on the last page.')),
  unreachable: field.optional(field.texts('The shards that could not be reached: their steps are missing.')),
});

const TASK_QUERY = {
  saga: parameter.text('The name of a saga.'),
  step: parameter.text('The name of a step.'),
  tag: parameter.tags(),
  ...PAGE_QUERY,
};

/** The steps that wait for approval. */
export class AdminTasksController extends AdminController {
  /** Oldest first, a page at a time; those of sagas that may not be looked at are left out of it. */
  @Get()
  @Route({
    summary: 'Lists the steps that wait for approval, oldest first, one page at a time',
    query: TASK_QUERY,
    answer: TaskPageDto,
    errors: [400],
  })
  async list(@Query() query: unknown, @Req() request: unknown): Promise<Page<AdminTask>> {
    await this.access.demand({ kind: 'look', ...sagaOf(query) }, request);
    const { tag: tags, ...filter } = readQuery(TASK_QUERY, query);
    const page = await this.admin.sagas.tasks({ ...filter, tags });
    const items = await this.access.visible(page.items, ({ saga }) => saga, request);
    return { ...page, items: await Promise.all(items.map((one) => this.withActions(one, request))) };
  }

  private async withActions(task: ApprovalTask, request: unknown): Promise<AdminTask> {
    const { saga, id, step } = task;
    const may = await Promise.all(
      DECISION_CALLS.map((kind) => this.access.may({ kind, saga, id, step }, request)),
    );
    return { ...task, actions: DECISION_CALLS.filter((_, n) => may[n]) };
  }
}
