import { Module, ValidationPipe } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { SagaErrorFilter } from './saga-error.filter.js';

/** What holds for all controllers: requests are validated, and the library's errors get their status. */
@Module({
  providers: [
    {
      provide: APP_PIPE,
      useValue: new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true }),
    },
    { provide: APP_FILTER, useClass: SagaErrorFilter },
  ],
})
export class HttpModule {}
