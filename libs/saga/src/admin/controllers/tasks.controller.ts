import { Get, Inject, Query, Req } from '@nestjs/common';
import { DECISION_CALLS, type DecisionCall } from '../../engine/ports/call-table.js';
import type { Page } from '../../nest/calls/saga-filter.js';
import type { ApprovalTask } from '../../nest/views/approval-task.js';
import { AdminAccess } from '../admin-access.js';
import { AdminRuntime } from '../admin.runtime.js';
import { ApiGroup } from '../api-docs.js';
import { Route } from '../dto/error.dto.js';
import { TaskPageDto } from '../dto/task.dto.js';
import { LONGEST_PAGE, type Query as QueryString, readTaskQuery, sagaOf } from '../read-query.js';
import { SafeHeaders } from '../safe-headers.decorator.js';

/** A step that waits for approval, and what the operator who looks may do with it. */
export interface AdminTask extends ApprovalTask {
  readonly actions: readonly DecisionCall[];
}

/** The steps that wait for approval. */
@ApiGroup()
export class AdminTasksController {
  constructor(
    @Inject(AdminRuntime) private readonly admin: AdminRuntime,
    @Inject(AdminAccess) private readonly access: AdminAccess,
  ) {}

  /** Oldest first, a page at a time; those of sagas that may not be looked at are left out of it. */
  @Get()
  @SafeHeaders()
  @Route({
    summary: 'Lists the steps that wait for approval, oldest first, one page at a time',
    query: {
      saga: { description: 'The name of a saga.' },
      step: { description: 'The name of a step.' },
      tag: {
        type: 'string',
        isArray: true,
        description: 'A tag as key:value. If given several times, a saga must have all of the tags.',
      },
      limit: { type: 'integer', minimum: 1, maximum: LONGEST_PAGE, default: 50 },
      cursor: { description: 'The `next` of the previous page.' },
    },
    answer: TaskPageDto,
    errors: [400],
  })
  async list(@Query() query: unknown, @Req() request: unknown): Promise<Page<AdminTask>> {
    await this.access.demand({ kind: 'look', ...sagaOf(query) }, request);
    const page = await this.admin.sagas.tasks(readTaskQuery(query as QueryString));
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
