import {
  type CanActivate,
  Controller,
  type Type,
  UseFilters,
  UseGuards,
  UseInterceptors,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { AdminActionsController } from './controllers/actions.controller.js';
import { AdminBulkController } from './controllers/bulk.controller.js';
import { AdminDashboardController } from './controllers/dashboard.controller.js';
import { AdminFiguresController } from './controllers/figures.controller.js';
import { AdminPausedStepsController } from './controllers/paused-steps.controller.js';
import { AdminSagasController } from './controllers/sagas.controller.js';
import { AdminSchedulesController } from './controllers/schedules.controller.js';
import { AdminStartController } from './controllers/start.controller.js';
import { AdminTasksController } from './controllers/tasks.controller.js';
import { SagaErrorFilter } from '../nest/saga-error.filter.js';
import { SameSiteGuard } from './same-site.guard.js';
import { HttpExceptionFilter, UnavailableInterceptor } from './error-answers.js';

/** Below the admin's path. */
const API: readonly (readonly [string, Type])[] = [
  ['api/sagas', AdminSagasController],
  ['api/sagas', AdminStartController],
  ['api/sagas/:id', AdminActionsController],
  ['api/bulk', AdminBulkController],
  ['api/tasks', AdminTasksController],
  ['api/schedules', AdminSchedulesController],
  ['api/paused-steps', AdminPausedStepsController],
  ['api', AdminFiguresController],
];
const DASHBOARD: typeof API = [['', AdminDashboardController]];

/** The controllers of one registration, at its path and behind its guards: classes of its own, since both are a class's. */
export function adminControllers(
  path: string,
  guards: readonly (CanActivate | Type<CanActivate>)[],
  dashboard: boolean,
): Type[] {
  return [...API, ...(dashboard ? DASHBOARD : [])].map(([below, base]) => {
    const controller: Type = class extends base {};
    // Named as what it is: in logs, and in OpenAPI's operation ids.
    Object.defineProperty(controller, 'name', { value: base.name });
    Controller({ path: `${path}/${below}`, version: VERSION_NEUTRAL })(controller);
    UseGuards(...guards, SameSiteGuard)(controller);
    UseFilters(SagaErrorFilter, HttpExceptionFilter)(controller);
    UseInterceptors(UnavailableInterceptor)(controller);
    return controller;
  });
}
