import {
  type CallHandler,
  Catch,
  type ExecutionContext,
  HttpException,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { catchError, type Observable, throwError } from 'rxjs';
import { SagaUnavailableError } from '../errors.js';
import { isOutage } from '../store/postgres/connection/transient-errors.js';

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
