import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
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
