import { Body, Post, Req } from '@nestjs/common';
import { type SagaFilter, SagaValidationError } from 'nestjs-durable-saga';
import type { BulkOptions, BulkResult } from 'nestjs-durable-saga/operators';
import { BULK_ACTIONS, shown, withoutUndefined } from 'nestjs-durable-saga/internal';
import { askedAction } from '../admin-access.js';
import { BULK_FIELDS, BULK_FILTERS, BulkAnswerDto, BulkDto, MOST_SAGAS } from '../dto/action.dto.js';
import { AdminController, Route } from '../route.js';
import { readBody, sagaOf } from '../read-request.js';

/** Acting on all that a filter finds, of one saga: so that leave can be asked for by its name. */
export class AdminBulkController extends AdminController {
  @Post()
  @Route({
    summary: 'Counts the sagas that match a filter. With `dryRun: false`, runs the action on each of them',
    body: BulkDto,
    answer: BulkAnswerDto,
    errors: [400, 415],
  })
  async bulk(@Body() body: unknown, @Req() request: unknown): Promise<BulkResult> {
    const { action: asked, filter: which } = (body ?? {}) as { action?: unknown; filter?: unknown };
    const action = BULK_ACTIONS.find((one) => one === asked);
    await this.access.demand({ ...askedAction('bulk', body), ...sagaOf(which) }, request);
    if (action) await this.access.demand({ ...askedAction(action, body), ...sagaOf(which) }, request);
    const given = readBody(body, BULK_FIELDS);
    if (!action)
      throw new SagaValidationError(`action is ${shown(asked)}; give one of ${BULK_ACTIONS.join(', ')}.`);
    const { createdAfter, createdBefore, ...filter } = readBody(given.filter, BULK_FILTERS, 'filter.');
    const { saga } = filter;
    if (typeof saga !== 'string' || saga === '')
      throw new SagaValidationError(`filter.saga is ${shown(saga)}; give the name of a saga.`);
    const times = Object.entries(withoutUndefined({ createdAfter, createdBefore }));
    const { limit, dryRun = true } = given;
    if (typeof dryRun !== 'boolean')
      throw new SagaValidationError(`dryRun is ${shown(dryRun)}; give true or false.`);
    if (typeof limit === 'number' && limit > MOST_SAGAS)
      throw new SagaValidationError(
        `limit is ${shown(limit)}; give at most ${MOST_SAGAS}, and repeat the call for the rest.`,
      );
    const options = withoutUndefined({
      reason: given.reason,
      by: await this.access.operator(request, given.by),
      limit,
    });
    return this.admin.operations.bulk(
      action,
      {
        ...filter,
        ...Object.fromEntries(times.map(([name, time]) => [name, new Date(time as string)])),
      } as SagaFilter,
      // Nothing is done that was not asked for in so many words.
      { ...options, dryRun } as BulkOptions,
    );
  }
}
