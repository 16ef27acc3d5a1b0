import {
  type CallHandler,
  type CanActivate,
  Catch,
  Controller,
  type ExecutionContext,
  HttpException,
  Injectable,
  type NestInterceptor,
  type Type,
  UseFilters,
  UseGuards,
  UseInterceptors,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { catchError, type Observable, throwError } from 'rxjs';
import { SagaErrorFilter, SagaUnavailableError } from 'nestjs-durable-saga';
import { isOutage } from 'nestjs-durable-saga/internal/runtime';
import { AdminActionsController } from './controllers/actions.controller.js';
import { AdminBulkController } from './controllers/bulk.controller.js';
import { AdminDashboardController } from './controllers/dashboard.controller.js';
import { AdminFiguresController } from './controllers/figures.controller.js';
import { AdminPausedStepsController } from './controllers/paused-steps.controller.js';
import { AdminSagasController } from './controllers/sagas.controller.js';
import { AdminSchedulesController } from './controllers/schedules.controller.js';
import { AdminStartController } from './controllers/start.controller.js';
import { AdminTasksController } from './controllers/tasks.controller.js';
import { SameSiteGuard } from './same-site.guard.js';

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

/** Answers 503 if the database cannot be reached, instead of 500. */
@Injectable()
export class UnavailableInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      catchError((error: unknown) =>
        throwError(() =>
          isOutage(error)
            ? new SagaUnavailableError('The database cannot be reached at the moment. Try again later.', {
                cause: error,
              })
            : error,
        ),
      ),
    );
  }
}

/**
 * Answers with the status of an exception, of guards too. A filter of the controllers comes before those of the
 * application, which may answer every exception with 500.
 */
@Catch(HttpException)
export class HttpExceptionFilter extends BaseExceptionFilter<HttpException> {}
