import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  HttpStatus,
  Inject,
  Optional,
} from '@nestjs/common';
import { BaseExceptionFilter, HttpAdapterHost } from '@nestjs/core';
import { SagaError } from '../errors.js';
import { ERROR_ANSWERS } from './error-answers.js';

/** The methods of the response that Express and Fastify share. */
interface HttpResponse {
  readonly headersSent?: boolean;
  readonly sent?: boolean;
  status(code: number): { send(body: object): unknown };
}

/**
 * Returns this package's errors over HTTP as `{ statusCode, code, message }`: 404 for an unknown saga, 409 for a
 * conflict or a state that does not allow the call, 400 for invalid input, 202 if another operator must approve, 503 if
 * the database cannot be reached, 504 after a timeout, and 500 without a message for any other error.
 *
 * Register it for the whole application, `{ provide: APP_FILTER, useClass: SagaErrorFilter }`, or with `@UseFilters()`.
 * It works on Express and Fastify. Messages of microservices and GraphQL keep Nest's own handling.
 */
@Catch(SagaError)
export class SagaErrorFilter implements ExceptionFilter<SagaError> {
  constructor(@Optional() @Inject(HttpAdapterHost) private readonly host?: HttpAdapterHost) {}

  catch(error: SagaError, host: ArgumentsHost): void {
    // An exception filter that returns nothing leaves the error to Nest there.
    if (host.getType() !== 'http') return;
    const { code, message } = error;
    const statusCode = ERROR_ANSWERS[code]?.status;
    const adapter = this.host?.httpAdapter;
    const body = statusCode
      ? { statusCode, code, message }
      : { statusCode: HttpStatus.INTERNAL_SERVER_ERROR, message: 'Internal server error' };
    if (adapter) {
      const answer = statusCode ? new HttpException(body, statusCode, { cause: error }) : error;
      return new BaseExceptionFilter(adapter).catch(answer, host);
    }
    // Made with `new`, and not by Nest.
    const response = host.switchToHttp().getResponse<HttpResponse>();
    if (!response.headersSent && !response.sent) response.status(body.statusCode).send(body);
  }
}
