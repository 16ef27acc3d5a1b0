import { type ArgumentsHost, Catch, HttpException, HttpStatus } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { SagaError } from '../errors/saga-errors.js';

/** Statuses by the errors' stable codes; what is not listed is our own fault. */
const STATUSES: Readonly<Record<string, HttpStatus>> = {
  SAGA_NOT_FOUND: HttpStatus.NOT_FOUND,
  SAGA_STATE: HttpStatus.CONFLICT,
  SAGA_CONFLICT: HttpStatus.CONFLICT,
  SAGA_VALIDATION: HttpStatus.BAD_REQUEST,
  SAGA_PAYLOAD: HttpStatus.BAD_REQUEST,
  // This process does not have the saga in this version, or cannot decode what it carries: another one may.
  SAGA_DEFINITION: HttpStatus.CONFLICT,
  SAGA_CODEC: HttpStatus.CONFLICT,
  SAGA_TIMEOUT: HttpStatus.GATEWAY_TIMEOUT,
  SAGA_UNAVAILABLE: HttpStatus.SERVICE_UNAVAILABLE,
};

/** Answers the library's errors as HTTP clients expect, with the code for programs and the message for people. */
@Catch(SagaError)
export class SagaErrorFilter extends BaseExceptionFilter<SagaError> {
  override catch(error: SagaError, host: ArgumentsHost): void {
    const { code, message } = error;
    const statusCode = STATUSES[code];
    if (!statusCode) return super.catch(error, host);
    const answer = new HttpException({ statusCode, code, message }, statusCode, { cause: error });
    super.catch(answer as unknown as SagaError, host);
  }
}
