import { Catch, HttpException } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';

/**
 * Answers with the status of an exception, of guards too. A filter of the controllers comes before those of the
 * application, which may answer every exception with 500.
 */
@Catch(HttpException)
export class HttpExceptionFilter extends BaseExceptionFilter<HttpException> {}
