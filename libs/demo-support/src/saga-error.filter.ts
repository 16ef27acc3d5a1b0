import { type ArgumentsHost, Catch, HttpException, HttpStatus } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { SagaError } from 'nestjs-durable-saga';

/** Statuses by the errors' stable codes; what is not listed is our own fault. */
const STATUSES: Readonly<Record<string, HttpStatus>> = {
  SAGA_NOT_FOUND: HttpStatus.NOT_FOUND,
  SAGA_CONFLICT: HttpStatus.CONFLICT,
  SAGA_STATE: HttpStatus.CONFLICT,
  SAGA_VALIDATION: HttpStatus.BAD_REQUEST,
  SAGA_PAYLOAD: HttpStatus.BAD_REQUEST,
  SAGA_TIMEOUT: HttpStatus.GATEWAY_TIMEOUT,
  SAGA_UNAVAILABLE: HttpStatus.SERVICE_UNAVAILABLE,
};

/** Answers the library's errors as HTTP clients expect, with the code for programs and the message for people. */
@Catch(SagaError)
export class SagaErrorFilter extends BaseExceptionFilter<SagaError> {
  override catch(error: SagaError, host: ArgumentsHost): void {
    const statusCode = STATUSES[error.code];
    if (!statusCode) return super.catch(error, host);
    const body = { statusCode, error: error.code, message: error.message };
    super.catch(new HttpException(body, statusCode, { cause: error }) as unknown as SagaError, host);
  }
}
